"""Requests signed with AWS Signature Version 4, by Amazon's own library, which costs memory: import this where it is
used, not before. For plugins.
"""

from __future__ import annotations

import hashlib
import io
from datetime import UTC, datetime

from awscrt.auth import (
    AwsCredentialsProvider,
    AwsSignatureType,
    AwsSignedBodyHeaderType,
    AwsSigningAlgorithm,
    AwsSigningConfig,
    aws_sign_request,
)
from awscrt.http import HttpHeaders, HttpRequest

from mastio.exchange.target import parse_base_url
from mastio.outbound.access_key import AccessKey

Headers = list[tuple[str, str]]

SIGNED = frozenset({"content-type", "accept"})
ADDED = frozenset({"authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"})
UNSIGNED = "UNSIGNED-PAYLOAD"
"""In place of a body's digest, where the service takes that."""


class Signature:
    """AWS Signature Version 4 over method, path, body and the headers that matter.

    `service` `s3` wants the body's digest in a header too, and its path encoded once.
    """

    def __init__(self, key: AccessKey, base_url: str, service: str) -> None:
        target = parse_base_url(base_url)
        usual = target.port == (443 if target.scheme == "https" else 80)
        self._host = target.host if usual else f"{target.host}:{target.port}"
        self._base = target.path
        self._region = key.region
        self._service = service
        self._is_s3 = service == "s3"
        self._credentials = AwsCredentialsProvider.new_static(
            key.access_key_id, key.secret_access_key, key.session_token
        )
        secrets = (key.secret_access_key, key.session_token)
        self.secrets = tuple(secret.encode() for secret in secrets if secret)

    async def headers(self, method: str, path: str, headers: Headers, body: bytes | None) -> Headers:
        """Returns the headers to add for a request to `path` behind the base URL. `body` None: it is not signed. The
        signer works in memory and is done when it returns."""
        signed = HttpHeaders([("host", self._host), *(pair for pair in headers if self._is_signed(pair[0]))])
        config = AwsSigningConfig(
            algorithm=AwsSigningAlgorithm.V4,
            signature_type=AwsSignatureType.HTTP_REQUEST_HEADERS,
            credentials_provider=self._credentials,
            region=self._region,
            service=self._service,
            date=datetime.now(UTC),
            use_double_uri_encode=not self._is_s3,
            should_normalize_uri_path=not self._is_s3,
            signed_body_value=UNSIGNED if body is None else hashlib.sha256(body).hexdigest(),
            signed_body_header_type=(
                AwsSignedBodyHeaderType.X_AMZ_CONTENT_SHA_256 if self._is_s3 else AwsSignedBodyHeaderType.NONE
            ),
        )
        aws_sign_request(HttpRequest(method, self._base + path, signed, io.BytesIO(body or b"")), config).result()
        return [(name.lower(), value) for name, value in signed if name.lower() in ADDED]

    def _is_signed(self, name: str) -> bool:
        return name in SIGNED or (name.startswith("x-amz-") and name not in ADDED)

    def forget(self) -> bool:
        return False
