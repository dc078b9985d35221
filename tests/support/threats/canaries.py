"""Canaries: what goes in at every place where content and secrets go in, and is looked for wherever it must not be."""

from __future__ import annotations

import base64
import binascii
import json
import secrets
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_from_bytes

from support.appliance import Appliance, read_files

OWN = {"agents", "secrets", "ca"}
"""Folders for what has to be kept: the agents' own keys (here, because the test enrols beside the appliance), the
appliance's secrets."""


def forms(canary: str) -> set[bytes]:
    """The canary as it is, in base64 wherever it stands in its group of three, in hex, in a URL, and in JSON."""
    raw = canary.encode()
    found = {raw, json.dumps(canary)[1:-1].encode(), quote(canary, safe="").encode(), quote_from_bytes(raw).encode()}
    found |= {quote(canary, safe="").lower().encode(), "".join(f"%{byte:02X}" for byte in raw).encode()}
    found |= {binascii.hexlify(raw), binascii.hexlify(raw).upper(), raw[::-1]}
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            text = encode(bytes(before) + raw)
            start = -(-8 * before // 6)  # the first character that is made of the canary alone
            end = 8 * (before + len(raw)) // 6
            found.add(text[start:end])
    return found


def canary(name: str) -> str:
    return f"{name} é+/=& {secrets.token_urlsafe(18)}"


def files_of(appliance: Appliance) -> dict[str, bytes]:
    """All that the appliance wrote, but what it has to keep."""
    return {
        str(file): content
        for file, content in read_files(appliance.data).items()
        if file.relative_to(appliance.data).parts[0] not in OWN
    }


def find(canaries: Mapping[str, str], places: Iterable[tuple[str, bytes]]) -> list[tuple[str, str]]:
    """Which canary is in which place, in any form."""
    spelled = [(name, form) for name, text in canaries.items() for form in forms(text)]
    return [(name, place) for place, content in places for name, form in spelled if form in content]
