"""Requests signed with AWS Signature Version 4, by Amazon's own library."""

from __future__ import annotations

import hashlib
import io
from datetime import UTC, datetime

from awscrt.auth import (
    AwsCredentialsProvider,
    AwsSignatureType,
    AwsSigningAlgorithm,
    AwsSigningConfig,
    aws_sign_request,
)
from awscrt.http import HttpHeaders, HttpRequest

from mastio.provider_secrets import AccessKey
from mastio.target import parse_base_url

Headers = list[tuple[str, str]]

SIGNED = frozenset({"content-type", "accept"})
ADDED = frozenset({"authorization", "x-amz-date", "x-amz-security-token"})


class Signature:
    """AWS Signature Version 4 over method, path, body and the headers that matter."""

    def __init__(self, key: AccessKey, base_url: str) -> None:
        target = parse_base_url(base_url)
        usual = target.port == (443 if target.scheme == "https" else 80)
        self._host = target.host if usual else f"{target.host}:{target.port}"
        self._base = target.path
        self._region = key.region
        self._credentials = AwsCredentialsProvider.new_static(
            key.access_key_id, key.secret_access_key, key.session_token
        )
        secrets = (key.secret_access_key, key.session_token)
        self.secrets = tuple(secret.encode() for secret in secrets if secret)

    async def headers(self, method: str, path: str, headers: Headers, body: bytes) -> Headers:
        """The signer works in memory and is done when it returns."""
        signed = HttpHeaders([("host", self._host), *(pair for pair in headers if pair[0] in SIGNED)])
        config = AwsSigningConfig(
            algorithm=AwsSigningAlgorithm.V4,
            signature_type=AwsSignatureType.HTTP_REQUEST_HEADERS,
            credentials_provider=self._credentials,
            region=self._region,
            service="bedrock",
            date=datetime.now(UTC),
            signed_body_value=hashlib.sha256(body).hexdigest(),
        )
        aws_sign_request(HttpRequest(method, self._base + path, signed, io.BytesIO(body)), config).result()
        return [(name.lower(), value) for name, value in signed if name.lower() in ADDED]

    def forget(self) -> bool:
        return False
