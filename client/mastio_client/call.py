"""One signed call, and one chat completion, for the command line and for the demonstration."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from mastio_client.auth import TIMEOUT, DPoPAuth, TokenRefused
from mastio_client.identity import Identity
from mastio_client.renewal import due
from mastio_primitives.errors import ConfigurationError


def warn_if_due(identity: Identity, now: float) -> None:
    """Prints a line when the certificate should be renewed: the shim renews by itself, single calls do not."""
    if due(identity, now):
        print(
            f"mastio: A third of the certificate's life or less is left. Renew it: renew --identity {identity.folder}",
            file=sys.stderr,
        )


@contextmanager
def open_client(identity: Identity) -> Iterator[httpx.Client]:
    """An httpx client that signs every request. Turns a connection that fails into `ConfigurationError`."""
    try:
        with httpx.Client(
            base_url=identity.base_url,
            auth=DPoPAuth(identity),
            verify=identity.tls(certificate=False),
            timeout=TIMEOUT,
            trust_env=False,
        ) as client:
            yield client
    except TokenRefused as error:
        raise ConfigurationError(str(error), "Check that the agent is active and its certificate in force.") from error
    except httpx.TransportError as error:
        raise ConfigurationError(f"{identity.base_url} cannot be reached ({error}).", "Is the appliance up?") from error


def chat(identity: Identity, model: str, text: str, *, stream: bool) -> Iterator[tuple[str, httpx.Response]]:
    """The reply's text, piece by piece, each with the response it came in. Raises `httpx.HTTPStatusError`."""
    body = {"model": model, "messages": [{"role": "user", "content": text}], "stream": stream}
    with (
        open_client(identity) as client,
        client.stream("POST", "/v1/chat/completions", json=body) as response,
    ):
        if response.status_code != 200:
            response.read()
            response.raise_for_status()
        if not stream:
            document = json.loads(response.read())
            yield document["choices"][0]["message"]["content"] or "", response
            return
        for line in response.iter_lines():
            piece = _delta(line)
            if piece is not None:
                yield piece, response


def _delta(line: str) -> str | None:
    """The text of one event line. Raises `ConfigurationError` for an error event."""
    if not line.startswith("data:") or line[5:].strip() == "[DONE]":
        return None
    document: dict[str, Any] = json.loads(line[5:])
    if "error" in document:
        raise ConfigurationError(f"The stream ended with an error: {document['error']['message']}")
    choices = document.get("choices") or [{}]
    content = choices[0].get("delta", {}).get("content")
    return content if isinstance(content, str) else None
