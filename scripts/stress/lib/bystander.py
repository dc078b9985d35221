"""A well-behaved agent, the probes and an admin, measured while others attack. Times are in milliseconds."""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from lib.machine import CannotRun
from lib.own import Own

from mastio_client import Identity

LAG = re.compile(r'^mastio_event_loop_lag_seconds\{worker="\d+"\} (\S+)$', re.MULTILINE)
CALL = {"model": "stub-openai/m", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
PROBE_SECONDS = 0.5
TIMEOUT = aiohttp.ClientTimeout(total=30)
MOST_REVOCATION_MS = 1000.0
MOST_STALL_MS = 50.0
MOST_GROWTH = 64 * 1024 * 1024
TRANSPORT = (aiohttp.ClientError, TimeoutError, OSError)


@dataclass(slots=True)
class Seen:
    """What was seen in one phase. `late`: how late this process itself began its calls, which is its own fault."""

    calls: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    probes: Counter[str] = field(default_factory=Counter)
    slowest_probe: float = 0.0

    def describe(self) -> dict[str, Any]:
        return {
            "calls": len(self.calls),
            **quantiles(self.calls),
            "late_p99_ms": quantiles(self.late)["p99_ms"],
            "answers": dict(self.answers),
            "readyz": dict(self.probes),
            "slowest_readyz_ms": round(self.slowest_probe, 1),
        }


def quantiles(taken: list[float]) -> dict[str, float]:
    if len(taken) < 2:
        return dict.fromkeys(("p50_ms", "p99_ms", "max_ms"), 0.0)
    cuts = statistics.quantiles(taken, n=100)
    return {"p50_ms": round(cuts[49], 2), "p99_ms": round(cuts[98], 2), "max_ms": round(max(taken), 2)}


class Bystander:
    """Calls at a fixed rate, whether or not earlier calls were answered. A call's time begins when it was due."""

    def __init__(self, own: Own, folder: Path, rate: float) -> None:
        self._own = own
        self._rate = rate
        self._tls = Identity.load(folder).tls(certificate=True)
        self._open_tls = ssl.create_default_context(cafile=str(own.ca_file))

    async def watch(self, seconds: float) -> Seen:
        """One phase."""
        seen = Seen()
        async with self._session(self._tls) as session:
            await asyncio.gather(*(self._call(session, Seen(), time.perf_counter()) for _ in range(8)))  # connections
            probing = asyncio.create_task(self._probe(seen))
            calls, began = [], time.perf_counter()
            for number in range(int(seconds * self._rate)):
                due = began + number / self._rate
                await asyncio.sleep(max(due - time.perf_counter(), 0))
                calls.append(asyncio.create_task(self._call(session, seen, due)))
            await asyncio.gather(*calls)
            probing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await probing
        return seen

    def _session(self, tls: ssl.SSLContext) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=tls), timeout=TIMEOUT, trust_env=False,
            skip_auto_headers=("User-Agent", "Accept-Encoding"),
        )  # fmt: skip

    async def _call(self, session: aiohttp.ClientSession, seen: Seen, due: float) -> None:
        seen.late.append((time.perf_counter() - due) * 1000)
        try:
            async with session.post(f"{self._own.base_url}/v1/chat/completions", json=CALL) as reply:
                await reply.read()
                seen.answers[str(reply.status)] += 1
        except TRANSPORT as error:
            seen.answers[type(error).__name__] += 1
        seen.calls.append((time.perf_counter() - due) * 1000)

    async def _probe(self, seen: Seen) -> None:
        """`/readyz` on a new connection each time, as a balancer asks."""
        while True:
            began = time.perf_counter()
            try:
                async with (
                    self._session(self._open_tls) as session,
                    session.get(f"{self._own.base_url}/readyz") as reply,
                ):
                    await reply.read()
                    seen.probes[str(reply.status)] += 1
            except TRANSPORT as error:
                seen.probes[type(error).__name__] += 1
            seen.slowest_probe = max(seen.slowest_probe, (time.perf_counter() - began) * 1000)
            await asyncio.sleep(PROBE_SECONDS)


class Overseer:
    """The admin. All calls are on connections of their own."""

    def __init__(self, own: Own) -> None:
        self._own = own
        token = (own.data / "secrets" / "admin-token").read_text().strip()
        self._headers = {"Authorization": f"Bearer {token}"}

    async def worst_stall(self) -> float:
        """The longest delay of a worker's event loop in the last minute."""
        try:
            async with self._session(None) as session, session.get(f"{self._own.base_url}/metrics") as reply:
                found = LAG.findall(await reply.text())
        except TRANSPORT as error:
            raise CannotRun(f"The metrics cannot be had: {error!r}", "See out.log of the appliance.") from error
        return max((float(value) * 1000 for value in found), default=0.0)

    async def revoke(self, name: str, folder: Path) -> dict[str, Any]:
        """How long the admin waits for a revocation, and how long from its begin until the agent is refused."""
        tls = Identity.load(folder).tls(certificate=True)
        async with self._session(None) as admin, self._session(tls) as agent:
            began = time.perf_counter()
            asked = asyncio.create_task(self._ask(admin, f"/v1/admin/agents/{name}/revoke"))
            refused = None
            while refused is None and time.perf_counter() - began < 10:
                if await self._status(agent) == 401:
                    refused = round((time.perf_counter() - began) * 1000, 1)
                await asyncio.sleep(0.02)
            status, taken = await asked
        return {"status": status, "answered_ms": taken, "in_force_ms": refused}

    async def _ask(self, session: aiohttp.ClientSession, path: str) -> tuple[int | str, float]:
        began = time.perf_counter()
        try:
            async with session.post(self._own.base_url + path) as reply:
                await reply.read()
                status: int | str = reply.status
        except TRANSPORT as error:
            status = type(error).__name__
        return status, round((time.perf_counter() - began) * 1000, 1)

    async def _status(self, session: aiohttp.ClientSession) -> int:
        try:
            async with session.get(f"{self._own.base_url}/v1/agents/self") as reply:
                await reply.read()
                return reply.status
        except TRANSPORT:
            return 0

    def _session(self, tls: ssl.SSLContext | None) -> aiohttp.ClientSession:
        trust = tls or ssl.create_default_context(cafile=str(self._own.ca_file))
        headers = {} if tls else self._headers
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=trust), timeout=TIMEOUT, headers=headers, trust_env=False
        )


def judge(found: list[dict[str, Any]], max_ratio: float) -> tuple[list[dict[str, Any]], list[str], list[str]]:
    """A row for each attack, what is beyond the pass line, and what is warned of."""
    rows, failures, warnings = [], [], []
    alone = statistics.median(one["alone"]["p99_ms"] for one in found)
    for name in dict.fromkeys(one["attack"] for one in found):
        of_it = [one for one in found if one["attack"] == name]
        p99 = statistics.median(one["attacked"]["p99_ms"] for one in of_it)
        row = {
            "attack": name, "alone_p99_ms": alone,
            "p50_ms": statistics.median(one["attacked"]["p50_ms"] for one in of_it),
            "p99_ms": p99, "ratio": round(p99 / alone, 2), "max_ms": max(one["attacked"]["max_ms"] for one in of_it),
            "stall_ms": max((one["stall_ms"] for one in of_it if not one["stall_is_of_before"]), default=None),
            "growth_mb": round(max(one["memory_growth"] for one in of_it) / 1e6, 1),
            "attackers_cores": max(one["cores_used"]["attackers"] for one in of_it),
            "app_cores": max(one["cores_used"].get("app", 0.0) for one in of_it),
            "revoked_ms": max((one["revocation"]["in_force_ms"] or 99_999.0) for one in of_it),
        }  # fmt: skip
        rows.append(row)
        if row["ratio"] > max_ratio:
            failures.append(f"{name}: p99 {p99:.1f} ms is {row['ratio']} times the {alone:.1f} ms alone")
        for one in of_it:
            failures += [f"{name}: {problem}" for problem in find_problems(one)]
            warnings += [f"{name}: the attack {attack} failed: {told['failed']}"
                         for attack, told in one["attackers"].items() if "failed" in told]  # fmt: skip
        if row["stall_ms"] is not None and row["stall_ms"] > MOST_STALL_MS:
            warnings.append(f"{name}: the event loop was held for {row['stall_ms']} ms")
        if row["growth_mb"] * 1e6 > MOST_GROWTH:
            warnings.append(f"{name}: the worker's memory grew by {row['growth_mb']} MB")
    return rows, failures, warnings


def find_problems(one: dict[str, Any]) -> Iterator[str]:
    for phase in ("alone", "attacked"):
        if wrong := {status: count for status, count in one[phase]["answers"].items() if status != "200"}:
            yield f"calls were answered {wrong} ({phase})"
        if wrong := {status: count for status, count in one[phase]["readyz"].items() if status != "200"}:
            yield f"/readyz was answered {wrong} ({phase})"
    revoked = one["revocation"]
    if revoked["status"] != 200 or revoked["in_force_ms"] is None or revoked["in_force_ms"] > MOST_REVOCATION_MS:
        yield f"the revocation was answered {revoked['status']} and in force after {revoked['in_force_ms']} ms"
