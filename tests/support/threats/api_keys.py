"""An agent's API keys: what an operator does with them, and the ways to present one, rightly and wrongly."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from mastio_client import Identity
from support.appliance import Appliance
from support.threats.agent_kit import Headers
from support.threats.judge import BODY, CHAT, Answer, Refusal, refusal

INVALID = refusal(401, "invalid_api_key")
NO_TOKEN = refusal(401, "invalid_token")
NOBODY = refusal(401, "missing_credential")
AMBIGUOUS = refusal(401, "ambiguous_credential")
AGENTS = "/v1/admin/agents"

WAYS: dict[str, Callable[[str], Headers]] = {
    "bearer": lambda key: [("Authorization", f"Bearer {key}")],
    "x-api-key": lambda key: [("x-api-key", key)],
    "x-goog-api-key": lambda key: [("x-goog-api-key", key)],
    "api-key": lambda key: [("api-key", key)],
}


class Keys:
    """One agent and what an operator does with its keys."""

    def __init__(self, appliance: Appliance, identity: Identity) -> None:
        self.appliance = appliance
        self.identity = identity
        self.path = f"{AGENTS}/{identity.name}"
        self.patch(api_keys=True)
        self.id, self.key = self.make()

    def patch(self, **changes: Any) -> None:
        with self.appliance.admin() as admin:
            assert admin.patch(self.path, json=changes).status_code == 200

    def make(self, **body: Any) -> tuple[str, str]:
        with self.appliance.admin() as admin:
            made = admin.post(f"{self.path}/api-keys", json=body)
            assert made.status_code == 201, made.text
            return made.json()["id"], made.json()["key"]

    def remove(self, identifier: str) -> None:
        with self.appliance.admin() as admin:
            assert admin.delete(f"{self.path}/api-keys/{identifier}").status_code == 204

    def row(self, identifier: str) -> dict[str, Any]:
        with self.appliance.admin() as admin:
            row: dict[str, Any] = admin.get(f"{self.path}/api-keys/{identifier}").json()
            return row

    def ask(
        self, headers: Headers, identity: Identity | None = None, path: str = CHAT, method: str = "POST", **sent: Any
    ) -> Answer:
        """On a connection of its own; by `identity`'s certificate if it is given."""
        if path == CHAT:
            sent.setdefault("json", BODY)
        client = self.appliance.client() if identity is None else self.appliance.by_certificate(identity)
        with client:
            return Answer.of(client.request(method, path, headers=headers, **sent))

    def by(self, key: str, **sent: Any) -> Answer:
        return self.ask([("Authorization", f"Bearer {key}")], **sent)


def other_letter(letter: str) -> str:
    return "A" if letter != "A" else "B"


def changed(key: str, place: int) -> str:
    letters = list(key)
    letters[place] = other_letter(letters[place])
    return "".join(letters)


def basic(user: str, password: str) -> tuple[str, str]:
    return ("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())


ODD: dict[str, tuple[Callable[[Keys], Headers], Refusal]] = {
    "dpop": (lambda keys: [("Authorization", f"DPoP {keys.key}")], INVALID),
    "noscheme": (lambda keys: [("Authorization", keys.key)], NO_TOKEN),
    "otherscheme": (lambda keys: [("Authorization", f"ApiKey {keys.key}")], NO_TOKEN),
    "basicuser": (lambda keys: [basic(keys.key, "")], NOBODY),
    "basicpassword": (lambda keys: [basic("keyed", keys.key)], NOBODY),
    "basicbeside": (lambda keys: [basic("keyed", "x"), ("x-api-key", keys.key)], AMBIGUOUS),
    "twice": (lambda keys: [("x-api-key", keys.key)] * 2, AMBIGUOUS),
    "twicegoogle": (lambda keys: [("x-goog-api-key", keys.key)] * 2, AMBIGUOUS),
    "twicecase": (lambda keys: [("x-api-key", keys.key), ("X-API-Key", keys.key)], AMBIGUOUS),
    "twiceempty": (lambda keys: [("api-key", ""), ("api-key", keys.key)], Refusal((401,), ())),
    "twicebearer": (
        lambda keys: [("Authorization", f"Bearer {keys.key}")] * 2,
        Refusal((400, 401), ("bad_request", "ambiguous_credential"), ("edge", "app")),
    ),
    "different": (lambda keys: [("Authorization", f"Bearer {keys.key}"), ("x-api-key", keys.make()[1])], AMBIGUOUS),
    "differentproviders": (lambda keys: [("api-key", keys.key), ("x-api-key", keys.make()[1])], AMBIGUOUS),
    "goodandbad": (lambda keys: [("x-api-key", keys.key), ("api-key", changed(keys.key, 20))], AMBIGUOUS),
    "goodandempty": (lambda keys: [("x-api-key", keys.key), ("api-key", "")], NO_TOKEN),
    "goodandword": (lambda keys: [("x-api-key", keys.key), ("api-key", "certificate")], AMBIGUOUS),
    "underscore": (lambda keys: [("x_api_key", keys.key)], NOBODY),
    "cookie": (lambda keys: [("Cookie", f"x-api-key={keys.key}")], NOBODY),
    "proxy": (lambda keys: [("Proxy-Authorization", f"Bearer {keys.key}")], NOBODY),
    "otherheader": (lambda keys: [("x-api-token", keys.key)], NOBODY),
}
