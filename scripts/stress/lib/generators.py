"""The load generators, k6 and wrk, each run once: settings in, figures out. Latencies are in milliseconds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from lib.machine import CannotRun

Figures = dict[str, Any]
STRESS = Path(__file__).resolve().parent.parent
TOKEN_PATH = "/oauth/token"
THRESHOLDS_CROSSED = 99
"""k6's exit status when a pass line was not reached: a result. Any other but 0 is a failure to run."""

GENEROUS_GC = "400"
"""GOGC of k6: rarer collections of garbage leave more of a small machine to what is measured."""


def find_program(name: str) -> str:
    """On PATH, or where `go install` puts it."""
    beside = Path.home() / "go" / "bin" / name
    found = shutil.which(name) or (str(beside) if beside.exists() else None)
    if found is None:
        raise CannotRun(f"{name} is not installed.", f"Put {name} on the PATH.")
    return found


# ---------------------------------------------------------------------------------------- k6


@dataclass(frozen=True, slots=True)
class K6Run:
    """What one run of a scenario gave: its figures, and which of its pass lines were not reached."""

    figures: Figures
    failures: list[str]


def run_k6(script: str, environment: dict[str, str], ca_file: Path | None, *, http2: bool = True) -> K6Run:
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder) / "summary.json"
        settings = {**environment, "SUMMARY": str(summary)}
        command = [find_program("k6"), "run", "--quiet", "--no-usage-report"]
        for name, value in settings.items():
            command += ["--env", f"{name}={value}"]
        process_settings = {"GOGC": GENEROUS_GC, **os.environ}
        if ca_file:
            process_settings["SSL_CERT_FILE"] = str(ca_file)
        if not http2:
            process_settings["GODEBUG"] = "http2client=0"
        command.append(str(STRESS / script))
        done = subprocess.run(command, env=process_settings, capture_output=True, text=True)
        if done.returncode not in (0, THRESHOLDS_CROSSED) or not summary.exists():
            last = done.stderr.strip().splitlines()[-1:] or ["no output"]
            message = f"k6 ended with {done.returncode}: {last[0][:300]}"
            raise CannotRun(message, "Run the script with k6 alone to see more.")
        return read_k6_summary(json.loads(summary.read_text()), done.stderr)


def read_k6_summary(summary: Figures, log: str) -> K6Run:
    metrics = summary["metrics"]
    absent: Figures = {"values": {}}
    # A scenario without agents counts nothing of its own, to spare the generator.
    failed = metrics.get("exchange_failed", metrics["http_req_failed"])["values"]
    own = "exchange_duration" if "exchange_failed" in metrics else "http_req_duration"
    times = metrics.get(own, absent)["values"]
    count = failed["passes"] + failed["fails"]
    figures: Figures = {
        "per_second": round((count - failed["passes"]) / summary["seconds"], 1),
        "exchanges": count,
        "failed": failed["passes"],
        **read_trend(times),
        "max_ms": times.get("max"),
    }
    for name in ("first_event", "after_first"):
        if name in metrics:
            figures |= {f"{name}_{cut}": value for cut, value in read_trend(metrics[name]["values"]).items()}
    for name in ("dpop_nonce_challenges", "tokens_minted", "dropped_iterations"):
        if name in metrics:
            figures[name] = metrics[name]["values"]["count"]
    if "cache_hits" in metrics:
        figures["hit_rate"] = metrics["cache_hits"]["values"]["rate"]
        for name in ("hit", "miss"):
            figures[f"{name}_p50_ms"] = metrics.get(f"{name}_duration", absent)["values"].get("med")
    if "checks" in metrics:  # such a scenario also looks at every single request
        figures["requests"] = sum(metrics["http_req_failed"]["values"][name] for name in ("passes", "fails"))
        figures["requests_failed"] = metrics["http_req_failed"]["values"]["passes"]
    crossed = [f"{line['metric']} {line['line']}" for line in summary["thresholds"] if not line["ok"]]
    errors = [line for line in log.splitlines() if "level=error" in line and "source=console" in line]
    return K6Run(figures, crossed + [line[:300] for line in errors[:1]])


def read_trend(values: Figures) -> Figures:
    names = {"mean_ms": "avg", "p50_ms": "med", "p95_ms": "p(95)", "p99_ms": "p(99)"}
    return {name: values.get(cut) for name, cut in names.items()}


# ---------------------------------------------------------------------------------------- wrk

PROOF, NUMBER, ASSERTION = "\x01", "\x02", "\x03"
"""What presigned.lua replaces in a request: the first of what was signed beforehand, a number, the second."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What is asked again and again: the same that the k6 scenarios ask."""

    method: str
    path: str
    headers: dict[str, str]
    body: str
    """With `{number}` in it, so that every prompt is new, or with `{assertion}`."""
    by_assertion: bool = False
    """The client is proven by an assertion in the body, not by a token."""

    @classmethod
    def of_self(cls) -> Exchange:
        return cls("GET", "/v1/agents/self", {}, "")

    @classmethod
    def of_token(cls, client: str) -> Exchange:
        form = {
            "grant_type": "client_credentials",
            "client_id": client,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return cls("POST", TOKEN_PATH, headers, urlencode(form) + "&client_assertion={assertion}", by_assertion=True)

    @classmethod
    def of_dialect(
        cls, name: str, model: str | None = None, *, dirty: bool = False, streamed: bool = False, bounded: bool = False
    ) -> Exchange:
        """`bounded`: with the most tokens that the answer may have, which each dialect names in its own way."""
        table = json.loads((STRESS / "lib" / "dialects.json").read_text())
        dialect = table["dialects"][name]
        stream = dialect["stream"] if streamed else {}
        model = model or str(dialect["model"])
        text = (table["dirty"] if dirty else "") + table["prompt"]
        shape = {**dialect["body"], **stream.get("body", {}), **(dialect["bounded"] if bounded else {})}
        body = json.dumps(shape).replace("{model}", model).replace("{prompt}", text)
        headers = {"Content-Type": "application/json", **dialect["headers"]}
        return cls("POST", stream.get("path", dialect["path"]).replace("{model}", model), headers, body)

    def behind(self, prefix: str) -> Exchange:
        return replace(self, path=prefix + self.path)

    def without(self, prefix: str) -> Exchange:
        return replace(self, path=self.path.removeprefix(prefix))

    def filled(self, number: str, assertion: str = "") -> bytes:
        return self.body.replace("{number}", number).replace("{assertion}", assertion).encode()


@dataclass(frozen=True, slots=True)
class Signed:
    """A file of what was signed beforehand: records of one length, each of a proof and perhaps an assertion."""

    file: Path
    lengths: tuple[int, ...]


def render_request(exchange: Exchange, base_url: str, token: str | None, signed: Signed | None) -> bytes:
    """The whole HTTP request, with the marks that presigned.lua replaces."""
    headers = {"Host": urlsplit(base_url).netloc, **exchange.headers}
    if token:
        headers["Authorization"] = f"DPoP {token}"
    if signed:
        headers["DPoP"] = PROOF
    if exchange.body:
        assertion = "A" * sum(signed.lengths[1:]) if signed else ""
        headers["Content-Length"] = str(len(exchange.filled("00000000", assertion)))
    lines = [f"{exchange.method} {exchange.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + exchange.filled(NUMBER, ASSERTION)


@dataclass(frozen=True, slots=True)
class WrkLoad:
    threads: int
    connections: int
    seconds: int


def run_wrk(base_url: str, request: bytes, load: WrkLoad, signed: Signed | None) -> Figures:
    """One run. Any status but 200 is a failure."""
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder) / "request"
        template.write_bytes(request)
        environment = {"STRESS_REQUEST": str(template), "STRESS_THREADS": str(load.threads)}
        if signed:
            lengths = ",".join(map(str, signed.lengths))
            environment |= {"STRESS_SIGNED": str(signed.file), "STRESS_LENGTHS": lengths}
        command = [find_program("wrk"), f"-t{load.threads}", f"-c{load.connections}", f"-d{load.seconds}s"]
        command += ["-s", str(STRESS / "lib" / "presigned.lua"), base_url]
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines or not lines[-1].startswith("{"):
        last = (done.stderr or done.stdout).strip()[-300:]
        raise CannotRun(f"wrk ended with {done.returncode}: {last}", "Is the target up?")
    return read_wrk_figures(json.loads(lines[-1]))


def read_wrk_figures(report: Figures) -> Figures:
    statuses = report["statuses"]
    right = statuses.get("200", 0)
    count = sum(statuses.values())
    seconds = report["duration"] / 1e6
    times = {f"{name}_ms": report[name] / 1000 for name in ("p50", "p95", "p99", "max")}
    return {
        "per_second": round(right / seconds, 1),
        "exchanges": count,
        "failed": count - right + report["socket_errors"],
        **times,
        "statuses": statuses,
        "proofs_ran_out": report["exhausted"],
    }
