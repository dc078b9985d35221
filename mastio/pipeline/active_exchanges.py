"""Exchanges that have begun, so that a revocation ends them (promise 5): those whose body is still arriving before they
go on, those whose reply is on its way after each change. A connection that is deleted ends those with it as well.

Who may not begin an exchange any more may not go on with one either: the same `bind` decides, with the credentials that
began it and at the time when it began. So what merely expires meanwhile, a token of ten minutes, cuts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from mastio.exchange.errors import AuthenticationError, BadRequest, MastioError
from mastio.exchange.records import Directory
from mastio.exchange.values import Action, AdminCredential, ApiKeyCredential, Credential, Principal, Recorded
from mastio.identity.principal import bind
from mastio.pipeline.asgi_io import Interruption
from mastio.pipeline.reply import Answer


@dataclass(frozen=True, slots=True)
class _Stream:
    recorded: Recorded
    answer: Answer
    watch: Interruption


class OpenStreams:
    """Those of one worker. Not for several threads."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._streams: dict[int, _Stream] = {}

    def add(self, recorded: Recorded, answer: Answer, watch: Interruption) -> None:
        self._streams[id(answer)] = _Stream(recorded, answer, watch)

    def discard(self, answer: Answer) -> None:
        self._streams.pop(id(answer), None)

    def look(self) -> None:
        """Cut what may not go on. A stream whose outcome is being written is left to end."""
        for stream in list(self._streams.values()):
            if stream.answer.is_ending:
                continue
            began, action = stream.recorded.authenticated, stream.recorded.action
            error: MastioError | None = find_end(began.credentials, self._directory, began.at)
            error = error or find_loss(action, self._directory)
            if error is not None:
                stream.watch.cut(error)


def find_end(credentials: tuple[Credential, ...], directory: Directory, began_at: float) -> AuthenticationError | None:
    """Why an exchange that began with these credentials may not go on; None: it may."""
    try:
        bind_again(credentials, directory, began_at)
    except AuthenticationError as error:
        return error
    return None


def find_loss(action: Action, directory: Directory) -> BadRequest | None:
    """Why it cannot go on although its agent may: its target was removed. One that was changed is still there: what is
    under way ends with what it began with."""
    noun = directory.find_removed(action.target_type, action.target)
    return None if noun is None else BadRequest(f"The {noun} was deleted.", code="not_found")


def bind_again(
    credentials: tuple[Credential, ...], directory: Directory, began_at: float, address: str = ""
) -> Principal:
    """The principal re-bound to current agent records; credentials are judged as of `began_at`.

    Raises `AuthenticationError` if a credential or its agent is no longer valid.
    """
    for credential in credentials:
        match credential:
            case ApiKeyCredential():
                key = directory.api_keys.get(credential.key_hash)
                if key is None or key.id != credential.id:
                    raise AuthenticationError("The API key is not in force any more.", code="invalid_api_key")
            case AdminCredential():
                admin = directory.admins.get(credential.token_hash)
                if admin is None or admin.revoked or admin.role != credential.role:
                    raise AuthenticationError("The admin token is not in force any more.", code="invalid_admin_token")
    return bind(credentials, directory.agents, began_at, address)
