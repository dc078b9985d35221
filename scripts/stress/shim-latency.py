#!/usr/bin/env python3
"""What does the shim add to a call? The same agent makes the same call with and without it, one after the other.

    python scripts/stress/shim-latency.py --identity bench --model stub/gpt-4o-mini

Without: a keep-alive TLS connection to the appliance, a DPoP proof signed here for each call. With: a keep-alive plain
connection to a shim that is started for it, which signs. Calls alternate one by one, so that what else the machine
does hits both alike; what is compared is medians of rounds. Prints one JSON line for each round, then the verdict.
Exit status: 0 within 0.3 ms at the median, 1 above, 2 cannot run.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from mastio.exchange.errors import ConfigurationError
from mastio_client import DPoPAuth, Identity
from mastio_client.proofs import Prover, hash_token

ALLOWED_MS = 0.3
WARM_UP = 50

Call = Callable[[], float]


class Direct:
    """Calls the appliance itself. The token comes from `DPoPAuth`; the timed part is a proof, a request, a reply."""

    def __init__(self, identity: Identity, path: str, body: bytes) -> None:
        self._identity = identity
        self._path = path
        self._body = body
        self._prover = Prover(identity.dpop_key)
        parts = urlsplit(identity.base_url)
        context = identity.tls(certificate=False)
        self._connection = http.client.HTTPSConnection(parts.hostname or "", parts.port, context=context)
        self._token = self._fetch_token()
        self._nonce: str | None = None

    def _fetch_token(self) -> str:
        with httpx.Client(auth=DPoPAuth(self._identity), verify=self._identity.tls(certificate=False)) as client:
            reply = client.get(f"{self._identity.base_url}/v1/agents/self")
            reply.raise_for_status()
            return reply.request.headers["Authorization"].removeprefix("DPoP ")

    def __call__(self) -> float:
        for _ in range(2):  # the second time with a nonce, where the first had none or an old one; only that is timed
            started = time.perf_counter()
            proof = self._prover.prove(
                "POST", self._identity.base_url + self._path, time.time(), self._nonce, hash_token(self._token)
            )
            headers = {
                "Authorization": f"DPoP {self._token}",
                "DPoP": proof,
                "Content-Type": "application/json",
            }
            status, nonce = exchange(self._connection, self._path, self._body, headers)
            took = time.perf_counter() - started
            self._nonce = nonce or self._nonce
            if status == 200:
                return took
        raise ConfigurationError(f"A direct call was answered {status}.", "May this agent use the model?")


class Through:
    """Calls the shim."""

    def __init__(self, url: str, path: str, body: bytes) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
        self._path = path
        self._body = body

    def __call__(self) -> float:
        started = time.perf_counter()
        status, _ = exchange(self._connection, self._path, self._body, {"Content-Type": "application/json"})
        took = time.perf_counter() - started
        if status != 200:
            raise ConfigurationError(f"A call through the shim was answered {status}.", "May this agent use the model?")
        return took


def exchange(
    connection: http.client.HTTPConnection, path: str, body: bytes, headers: dict[str, str]
) -> tuple[int, str | None]:
    connection.request("POST", path, body, headers)
    reply = connection.getresponse()
    reply.read()
    return reply.status, reply.headers.get("DPoP-Nonce")


@contextmanager
def shim(identity: Path) -> Iterator[str]:
    """The URL of a shim that runs as long as the context."""
    command = [sys.executable, "-m", "mastio", "shim", "--identity", str(identity), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        found = re.search(r"http://\S+", process.stderr.readline())
        if found is None:
            raise ConfigurationError("The shim did not start.", "Try mastio shim by hand.")
        yield found[0]
    finally:
        process.terminate()
        process.wait(20)


def measure(direct: Call, through: Call, calls: int) -> dict[str, float]:
    """One round: medians and 95th percentiles in milliseconds."""
    without, via = [], []
    for number in range(calls):
        if number % 2:
            without.append(direct())
            via.append(through())
        else:
            via.append(through())
            without.append(direct())
    return {
        "direct_p50_ms": percentile(without, 50),
        "shim_p50_ms": percentile(via, 50),
        "added_p50_ms": percentile(via, 50) - percentile(without, 50),
        "direct_p95_ms": percentile(without, 95),
        "shim_p95_ms": percentile(via, 95),
        "added_p95_ms": percentile(via, 95) - percentile(without, 95),
    }


def percentile(seconds: list[float], nth: int) -> float:
    return statistics.quantiles(seconds, n=100)[nth - 1] * 1000


def show(document: dict[str, object]) -> None:
    print(json.dumps({name: round(x, 4) if isinstance(x, float) else x for name, x in document.items()}), flush=True)


def run(args: argparse.Namespace) -> int:
    identity = Identity.load(args.identity)
    path = "/v1/chat/completions"
    body = json.dumps({"model": args.model, "messages": [{"role": "user", "content": "hello"}]}).encode()
    show({"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()})
    with shim(args.identity) as url:
        direct, through = Direct(identity, path, body), Through(url, path, body)
        for _ in range(WARM_UP):
            direct()
            through()
        rounds = [measure(direct, through, args.calls) for _ in range(args.rounds)]
    for number, figures in enumerate(rounds, 1):
        show({"round": number, **figures})
    added = {name: statistics.median(figures[name] for figures in rounds) for name in ("added_p50_ms", "added_p95_ms")}
    show({"calls": args.calls * args.rounds, **added, "allowed_p50_ms": ALLOWED_MS})
    return 0 if added["added_p50_ms"] <= ALLOWED_MS else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--identity", type=Path, required=True, help="an agent that may use the model")
    parser.add_argument("--model", default="stub/gpt-4o-mini")
    parser.add_argument("--rounds", type=int, default=5, help="at least 3")
    parser.add_argument("--calls", type=int, default=500, help="pairs of calls in each round")
    args = parser.parse_args()
    if args.rounds < 3 or args.calls < 20:
        parser.error("at least 3 rounds of 20 calls")
    try:
        return run(args)
    except (ConfigurationError, httpx.HTTPError, OSError) as error:
        print(f"shim-latency: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
