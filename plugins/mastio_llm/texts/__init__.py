"""Where texts are in the messages, replies and streams of each dialect, for whoever inspects them.

In bodies every string is one, so a dialect only says what its own names are. In a stream it says which strings go on
from event to event, and when they are over (`mastio.reading.stream.Shape`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from mastio.inspection import Layout
from mastio.reading.document import Document
from mastio.reading.stream import Shape, StreamRewriter
from mastio_llm.dialects import OPERATIONS
from mastio_llm.dialects.operation import Form
from mastio_llm.texts import anthropic, gemini, openai


def make_layouts(shape: Shape) -> Mapping[Form, Layout]:
    """For each form of an answer. A whole answer that comes as a stream all the same is read as events."""
    request = partial(Document, names=shape.names)
    reply = partial(Document, names=shape.names, carrier="assistant")
    events = Layout(request, reply, partial(StreamRewriter, shape, "events"))
    return {"whole": events, "events": events, "array": Layout(request, reply, partial(StreamRewriter, shape, "array"))}


_SHAPES = {
    "/v1/chat/completions": openai.CHAT,
    "/v1/responses": openai.RESPONSES,
    "/v1/embeddings": openai.WHOLE,
    "/v1/moderations": openai.WHOLE,
    "/v1/messages": anthropic.MESSAGES,
    "/v1/messages/count_tokens": anthropic.MESSAGES,
}

LAYOUTS = {path: make_layouts(_SHAPES.get(path, gemini.CONTENTS)) for path in OPERATIONS}
"""By path, then by the form of the answer."""
