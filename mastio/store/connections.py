"""Connections as rows and back. Their secret is sealed in the table, or in a file that the operator laid down."""

from __future__ import annotations

import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Row

from mastio.connection_secrets import CredentialError, verify_secret
from mastio.store.base import ConnectionCredential, ConnectionLimits, ConnectionRow, CredentialKind
from mastio.store.damage import verify_name
from mastio.store.rows import SecretFileError, read_secret_file
from mastio.store.sealed import Sealer, SealError

log = logging.getLogger("mastio.store")


class ConnectionCodec:
    """The place that is authenticated with a sealed secret is `connections/<name>`."""

    def __init__(self, sealer: Sealer, secret_folders: tuple[Path, ...]) -> None:
        self._sealer = sealer
        self._folders = secret_folders

    def decode(self, row: Row[Any]) -> ConnectionRow:
        """With the secret in the clear, or without one when it cannot be had: nothing is sent then."""
        said = orjson.loads(row.document)
        credential, limits = said.pop("credential"), ConnectionLimits(**said.pop("limits"))
        lists = {name: tuple(value) for name, value in said.items() if isinstance(value, list)}
        if credential is not None:
            kind, options = credential["kind"], credential["options"]
            credential = ConnectionCredential(kind, self._secret(row, kind), options, row.secret_file)
        return ConnectionRow(verify_name(row), **{**said, **lists, "credential": credential, "limits": limits})

    def encode(self, connection: ConnectionRow) -> dict[str, Any]:
        document = asdict(connection)
        name, credential = document.pop("name"), connection.credential
        sealed = secret_file = None
        if credential is not None:
            document["credential"] = {"kind": credential.kind, "options": dict(credential.options)}
            secret_file = credential.secret_file
            if credential.secret is not None and secret_file is None:
                sealed = self._sealer.seal(credential.secret, f"connections/{name}")
        return {
            "name": name,
            "document": orjson.dumps(document).decode(),
            "secret": sealed,
            "secret_file": secret_file,
        }

    def _secret(self, row: Row[Any], kind: CredentialKind) -> str | None:
        try:
            if row.secret_file is not None:
                secret = read_secret_file(row.secret_file, self._folders)
            elif row.secret is not None:
                secret = self._sealer.unseal(row.secret, f"connections/{row.name}")
            else:
                return None
            verify_secret(kind, secret)
        except (SealError, SecretFileError, CredentialError) as error:
            log.error("the secret of connection %s cannot be had: %s", row.name, error)
            return None
        return secret
