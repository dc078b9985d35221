"""Finds the texts in the messages, replies and streams of each dialect, for inspectors.

In bodies every string is one, so a dialect only says what its own names are. In a stream it says which strings go on
from event to event, and when they are over (`mastio.reading.stream.Shape`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from mastio.exchange.inspection import Layout, Passage, ReadTexts, Texts
from mastio.exchange.values import RequestHead
from mastio.reading.document import Document, is_model
from mastio.reading.heads import Headed, leave_out, read_headers
from mastio.reading.stream import Shape, StreamRewriter
from mastio_llm.dialects import OPERATIONS
from mastio_llm.dialects.operation import Form
from mastio_llm.header_policy import goes_up
from mastio_llm.provider_secrets import ProviderKind
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


_PLAIN_QUERIES = frozenset({"?alt=sse", "?alt=json", "?beta=true"})


class Above(NamedTuple):
    """The parts that go up beside the body of a call: the providers' kinds, the headers that settings add, and the
    query."""

    head: RequestHead
    model: str
    kinds: frozenset[ProviderKind]
    named: frozenset[bytes]
    query: str


def open_layout(above: Above, form: Form) -> Layout:
    """For one call: the model's name, the query and the headers that go up are texts too."""
    layout = LAYOUTS[above.head.route.path][form]
    return Layout(partial(_read_request, above, layout.request), layout.reply, layout.stream)


def _read_request(above: Above, read: ReadTexts, raw: bytes, document: Any) -> Texts:
    said = [] if is_model(above.model) else [above.model]
    if above.query and above.query not in _PLAIN_QUERIES:
        said.append(above.query)
    sent = {
        n: (pair[0].decode("latin-1"), pair[1])
        for kind in above.kinds
        for n, pair in enumerate(above.head.headers)
        if goes_up(pair[0], kind) or pair[0] in above.named
    }
    named = frozenset(name.decode("latin-1") for name in above.named)
    passages = list(read_headers(sent.values(), named))
    texts = read(raw, document)
    if not said and not passages:
        return texts
    before = [Passage(text, "other") for text in said]
    return Headed(before, passages, texts, "the model's name", partial(leave_out, above.head.headers, named))


LAYOUTS = {path: make_layouts(_SHAPES.get(path, gemini.CONTENTS)) for path in OPERATIONS}
"""By path, then by the form of the answer."""
