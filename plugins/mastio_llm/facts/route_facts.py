"""The facts of a call that policies can read: computed when one does, once for all candidate routes. Pure.

The names are those of `mastio.cedar.schema.FACTS`, and three more. `tools.calls`: the names and arguments of calls that
are seen. `needs`: the facts that a policy has to look at to permit the call (`mastio.cedar.schema.EXPLICIT`). For `get`
alone, `memo`: a dict for what others work out of a call, kept as long as the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mastio.exchange.destination import find_destination
from mastio_llm.acts.found import NO_ACTS, Acts
from mastio_llm.dialects.operation import CallRequest, Operation
from mastio_llm.facts.call_facts import TELL, CallSummary, find_definitions
from mastio_llm.provider import ProviderRow

MEMO = "memo"


class CallFacts:
    """Those of one call, whoever carries it out."""

    __slots__ = ("_document", "_operation", "_told", "acts", "asked", "memo", "size")

    def __init__(
        self, operation: Operation, asked: CallRequest, document: Mapping[str, Any], size: int, acts: Acts = NO_ACTS
    ) -> None:
        self.acts = acts
        self._operation = operation
        self._document = document
        self._told: CallSummary | None = None
        self.asked = asked
        self.memo: dict[str, Any] = {}
        self.size = size

    @property
    def definitions(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """The tools that are offered, by name. Not remembered: asked for where one is suspected."""
        return tuple(find_definitions(self._document))

    def tell(self) -> None:
        """Find out now what is told of it, where that may take long."""
        self._told = TELL[self._operation.dialect, self._operation.kind](self._document)

    @property
    def told(self) -> CallSummary:
        if self._told is None:
            self.tell()
        assert self._told is not None
        return self._told


class Facts(Mapping[str, Any]):
    """Those of one call by one provider. `call` is None for what nobody has called yet."""

    __slots__ = ("_call", "_provider")

    def __init__(self, provider: ProviderRow, call: CallFacts | None = None) -> None:
        self._provider = provider
        self._call = call

    def __getitem__(self, path: str) -> Any:
        if path in OF_PROVIDER:
            return OF_PROVIDER[path](self._provider)
        if self._call is None:
            raise KeyError(path)
        return OF_CALL[path](self._call)

    def get(self, path: str, default: Any = None) -> Any:
        call = self._call
        if path == MEMO:
            return default if call is None else call.memo
        if call is not None and (read := OF_CALL.get(path)) is not None:
            return read(call)
        if call is not None and path == "tools.definitions":
            return call.definitions
        found = OF_PROVIDER.get(path)
        return default if found is None else found(self._provider)

    def __iter__(self) -> Iterator[str]:
        yield from OF_PROVIDER
        yield from OF_CALL if self._call is not None else ()

    def __len__(self) -> int:
        return len(list(iter(self)))


OF_PROVIDER: Mapping[str, Callable[[ProviderRow], Any]] = {
    "destination.kind": lambda provider: provider.kind,
    "destination.host": lambda provider: find_destination(provider.base_url).host,
    "destination.local": lambda provider: find_destination(provider.base_url).local,
}
OF_CALL: Mapping[str, Callable[[CallFacts], Any]] = {
    "request.stream": lambda call: call.asked.form != "whole",
    "request.bytes": lambda call: call.size,
    "request.messages": lambda call: call.told.messages,
    "request.images": lambda call: call.told.images,
    "request.system": lambda call: call.told.system,
    "request.max_tokens": lambda call: call.asked.limit,
    "tools.names": lambda call: call.told.tools,
    "tools.calls": lambda call: call.told.calls,
    "tools.hosted": lambda call: call.acts.hosted,
    "tools.mcp_hosts": lambda call: call.acts.mcp_hosts,
    "urls": lambda call: call.acts.urls,
    "files": lambda call: call.acts.files,
    "stored": lambda call: call.acts.stored,
    "needs": lambda call: call.acts.needs,
}
