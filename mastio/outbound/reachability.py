"""A test of whether an upstream can be reached, step by step: its name, its addresses, a connection, TLS.

The rules are those of a call: the same judge, the same resolver. The result names the first obstacle, for the admin who
described the upstream; agents are not told addresses. No request is sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from dataclasses import dataclass
from functools import cache
from typing import Literal

from mastio.exchange.target import Target
from mastio.outbound.connector import ForbiddenAddress, Judge, connect, resolve, secure
from mastio.outbound.resolver import Resolver
from mastio.outbound.tls import is_pinned

Step = Literal["resolve", "address", "connect", "tls"]
STEPS: tuple[Step, ...] = ("resolve", "address", "connect", "tls")

RESOLVE_WITHIN = 5.0
CONNECT_WITHIN = 10.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class FailedStep:
    """The step that fails, and why, in one sentence."""

    step: Step
    reason: str


async def find_obstacle(target: Target, judge: Judge, resolver: Resolver) -> FailedStep | None:
    """Returns the problem with the name or its addresses, or None. Connects to name servers only."""
    try:
        async with asyncio.timeout(RESOLVE_WITHIN):
            await resolve(target.host, target.port, judge, resolver)
    except ForbiddenAddress as error:
        return FailedStep("address", str(error))
    except TimeoutError:
        return FailedStep("resolve", f"The name {target.host} was not resolved in time.")
    except OSError as error:
        return FailedStep("resolve", f"{target.host}: {error}")
    return None


async def find_obstacle_to_tls(
    target: Target, judge: Judge, resolver: Resolver, tls: ssl.SSLContext | None, pin: bytes | None
) -> FailedStep | None:
    """The same, and whether there is a connection and, for https, TLS with a certificate that is accepted."""
    obstacle = await find_obstacle(target, judge, resolver)
    if obstacle is not None:
        return obstacle
    where = f"{target.host} port {target.port}"
    try:
        async with asyncio.timeout(CONNECT_WITHIN):
            link = await connect(target.host, target.port, socket.SOCK_STREAM, judge, resolver)
    except ForbiddenAddress as error:
        return FailedStep("address", str(error))
    except TimeoutError:
        return FailedStep("connect", f"{where} did not take the connection in time.")
    except OSError as error:
        return FailedStep("connect", f"{where} did not take the connection: {error.strerror or error}.")
    if target.scheme != "https":
        link.close()
        return None
    context = tls if tls is not None else await asyncio.to_thread(_system_context)
    return await _find_tls_obstacle(link, target, where, context, pin)


async def _find_tls_obstacle(
    link: socket.socket, target: Target, where: str, context: ssl.SSLContext, pin: bytes | None
) -> FailedStep | None:
    """Takes the connection over, and closes it."""
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(CONNECT_WITHIN):
            writer = await secure(link, context, target.host)
        shown: ssl.SSLObject = writer.get_extra_info("ssl_object")
        if pin is not None and not is_pinned(shown.getpeercert(binary_form=True), pin):
            return FailedStep("tls", f"The certificate of {where} is not the pinned one.")
    except ssl.SSLCertVerificationError as error:
        return FailedStep("tls", f"The certificate of {where} is not accepted: {error.verify_message.rstrip('.')}.")
    except TimeoutError:
        return FailedStep("tls", f"{where} did not finish the TLS handshake in time.")
    except OSError:
        return FailedStep("tls", f"{where} does not speak TLS 1.2 or 1.3, or refuses the appliance's certificate.")
    finally:
        if writer is None:
            link.close()
        else:
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()
    return None


@cache
def _system_context() -> ssl.SSLContext:
    """Trusts the system's authorities, as pools without a context of their own do."""
    return ssl.create_default_context()
