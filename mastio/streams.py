"""Exchanges whose reply is on its way, so that a revocation cuts them (promise 5): looked at after each change.

Who may not begin an exchange any more may not go on with one either: the same `bind` decides, with the credentials that
began it and at the time when it began. So what merely expires meanwhile, a token of ten minutes, cuts nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mastio.answer import Answer
from mastio.errors import AuthenticationError
from mastio.exchange import ApiKeyCredential, Credential, Recorded
from mastio.identity import bind
from mastio.store.base import Directory
from mastio.wire import Interruption


@dataclass(frozen=True, slots=True)
class _Stream:
    credentials: tuple[Credential, ...]
    began_at: float
    answer: Answer
    watch: Interruption


class OpenStreams:
    """Those of one worker. Not for several threads."""

    def __init__(self, directory: Directory, now: Callable[[], float]) -> None:
        self._directory = directory
        self._now = now
        self._streams: dict[int, _Stream] = {}

    def add(self, recorded: Recorded, answer: Answer, watch: Interruption) -> None:
        self._streams[id(answer)] = _Stream(recorded.credentials, self._now(), answer, watch)

    def discard(self, answer: Answer) -> None:
        self._streams.pop(id(answer), None)

    def look(self) -> None:
        """Cut what may not go on. A stream whose outcome is being written is left to end."""
        for stream in list(self._streams.values()):
            error = None if stream.answer.is_ending else find_end(stream.credentials, self._directory, stream.began_at)
            if error is not None:
                stream.watch.cut(error)


def find_end(credentials: tuple[Credential, ...], directory: Directory, began_at: float) -> AuthenticationError | None:
    """Why an exchange that began with these credentials may not go on; None: it may."""
    for credential in credentials:
        if isinstance(credential, ApiKeyCredential):
            key = directory.api_keys.get(credential.key_hash)
            if key is None or key.id != credential.id:
                return AuthenticationError("The API key is not in force any more.", code="invalid_api_key")
    try:
        bind(credentials, directory.agents, began_at)
    except AuthenticationError as error:
        return error
    return None
