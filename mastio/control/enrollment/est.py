"""Enrolment over Secure Transport (RFC 7030): the same authority, tokens and agents, for clients that speak EST."""

from __future__ import annotations

from typing import Annotated

from cryptography import x509
from fastapi import Body, Depends, Header, Response

from mastio.control.context import Caller, Context
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.enrollment.issuing import issue_with_token, make_enrollment, renew
from mastio.exchange.errors import AuthenticationError, BadRequest
from mastio.exchange.presented_credentials import parse_password
from mastio.pki.certificates import NAME_RULE, PublicKey, is_agent_name
from mastio.pki.csr import RequestError, verify_csr
from mastio.pki.est import REPLY_TYPE, REQUEST_TYPE, encode_certificates, find_name, parse_request

CsrBytes = Annotated[bytes, Body(media_type=REQUEST_TYPE)]
CHALLENGE = (("WWW-Authenticate", 'Basic realm="Mastio EST"'),)


async def read_password(authorization: Annotated[str | None, Header()] = None) -> tuple[str, str]:
    """User and password, asked for before the body is judged: clients try without first, some with an empty body."""
    password = parse_password(authorization or "")
    if password is None:
        raise AuthenticationError("A one-time token is wanted as the password of HTTP Basic.", headers=CHALLENGE)
    return password


Password = Annotated[tuple[str, str], Depends(read_password)]


class EstRouter:
    """`/.well-known/est`."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._authority = context.authority

    def endpoints(self) -> Endpoints:
        est = "/.well-known/est"
        return {
            ("GET", est + "/cacerts"): Endpoint(self.ca_certificates),
            ("HEAD", est + "/cacerts"): Endpoint(self.ca_certificates),
            ("POST", est + "/simpleenroll"): Endpoint(self.enroll, takes=REQUEST_TYPE),
            ("POST", est + "/simplereenroll"): Endpoint(self.reenroll, takes=REQUEST_TYPE),
        }

    async def ca_certificates(self) -> Response:
        """§4.1: the roots and what they have signed to issue, as PKCS #7."""
        trust = self._authority.trust()
        trusted = [x509.load_der_x509_certificate(der) for der in (*trust.roots, *trust.intermediates)]
        return _answer(trusted, "public, max-age=300")

    async def enroll(self, body: CsrBytes, password: Password) -> Response:
        """§4.2: a leaf for a certificate request, with a one-time token as the password of HTTP Basic.

        The agent's name is that of the request's SPIFFE ID, else its common name, else the user of HTTP Basic.
        """
        user, token = password
        csr, name = self._parse(body, user)
        if not is_agent_name(name):
            raise BadRequest(f"The request names nobody, and the user is not {NAME_RULE}.", code="invalid_csr")
        enrollment = make_enrollment(self._context, self._verify(csr, name), name)
        issued = await issue_with_token(self._context, enrollment, token)
        return _answer([x509.load_pem_x509_certificate((issued.certificate or "").encode("ascii"))])

    async def reenroll(self, body: CsrBytes, caller: Caller) -> Response:
        """§4.2.2: a new leaf for the agent that calls, as `POST /v1/agents/self/renew` makes it."""
        csr, name = self._parse(body, caller.name)
        if name != caller.name:
            raise BadRequest("The request is for another name than the caller's.", code="invalid_csr")
        _, leaf = await renew(self._context, caller, self._verify(csr, name))
        return _answer([x509.load_pem_x509_certificate(leaf.certificate.encode("ascii"))])

    def _parse(self, body: bytes, otherwise: str) -> tuple[x509.CertificateSigningRequest, str]:
        """The request and the name that it asks for; `otherwise` when it asks for none."""
        try:
            csr = parse_request(body)
            return csr, find_name(csr, self._context.trust_domain) or otherwise
        except RequestError as error:
            raise BadRequest(str(error), code="invalid_csr") from error

    def _verify(self, csr: x509.CertificateSigningRequest, name: str) -> PublicKey:
        try:
            return verify_csr(csr, self._context.spiffe_id(name))
        except RequestError as error:
            raise BadRequest(str(error), code="invalid_csr") from error


def _answer(certificates: list[x509.Certificate], cache: str = "no-store") -> Response:
    headers = {"Content-Transfer-Encoding": "base64", "Cache-Control": cache}
    return Response(encode_certificates(certificates), media_type=REPLY_TYPE, headers=headers)
