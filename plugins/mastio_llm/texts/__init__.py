"""Where texts are in the messages, replies and streams of each dialect, for whoever inspects them.

In bodies every string is one, so a dialect only says what its own names are. In a stream it says which strings go on
from event to event, and when they are over (`mastio.reading.stream.Shape`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mastio.exchange import RequestHead
from mastio.inspection import Layout, Passage, ReadTexts, Texts
from mastio.reading.document import Document, is_model
from mastio.reading.heads import Headed, is_harmless, read_headers
from mastio.reading.stream import Shape, StreamRewriter
from mastio_llm.dialects import OPERATIONS
from mastio_llm.dialects.operation import Asked, Form
from mastio_llm.passing import goes_up
from mastio_llm.texts import anthropic, gemini, openai
from mastio_llm.ways import Choice


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

Receivers = Sequence[tuple[Choice, frozenset[bytes]]]
"""Who may get a call, with the names of headers that the settings let through."""


def open_layout(head: RequestHead, asked: Asked, receivers: Receivers, query: str) -> Layout:
    """For one call: the model's name, the query and the headers that go up are texts too."""
    layout = LAYOUTS[head.route.path][asked.form]
    return replace(layout, request=partial(_read_request, head, asked, receivers, query, layout.request))


def _read_request(
    head: RequestHead, asked: Asked, receivers: Receivers, query: str, read: ReadTexts, raw: bytes, document: Any
) -> Texts:
    said = [] if is_model(asked.model) else [asked.model]
    if query and not is_harmless(query[1:]):
        said.append(query)
    headers = [
        (name.decode("latin-1"), value)
        for name, value in head.headers
        if any(goes_up(name, choice, named) for choice, named in receivers)
    ]
    passages = list(read_headers(headers))
    texts = read(raw, document)
    if not said and not passages:
        return texts
    return Headed([Passage(text, "other") for text in said], passages, texts, "the model's name")


LAYOUTS = {path: make_layouts(_SHAPES.get(path, gemini.CONTENTS)) for path in OPERATIONS}
"""By path, then by the form of the answer."""
