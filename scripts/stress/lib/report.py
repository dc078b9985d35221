"""The parts of a result file besides the metrics, as evidence for them: versions, settings, verdict."""

from __future__ import annotations

import json
import platform
import re
import shutil
import ssl
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from lib.generators import STRESS, Figures
from lib.machine import CannotRun, Process, ProcessorTime, first_line

DISTURBED_CORES = 0.1
"""More than this used by what is not measured, and the figures are those of a disturbed machine."""
SECRET_NAMES = re.compile(r"secret|token|password|passphrase|(^|_)key$", re.IGNORECASE)


@dataclass
class Outcome:
    """What came out: the figures of every round, their medians, and why the pass line was not reached."""

    rounds: list[Figures] = field(default_factory=list)
    medians: dict[str, Any] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    memory: dict[str, dict[str, Any]] = field(default_factory=dict)
    watched: dict[str, list[float]] = field(default_factory=dict)
    """When the pieces of one stream came, in seconds, by whose stream it was."""

    def add(self, number: int, kind: str, figures: Figures, spent: ProcessorTime | None = None) -> str:
        """Keep one measurement; gives it as one line."""
        entry: Figures = {"round": number, "kind": kind, **figures}
        if spent:
            entry["cores_used"] = spent.cores()
            entry["processor_us_per_exchange"] = spent.per(figures["exchanges"])
            elsewhere = entry["cores_used"]["elsewhere"]
            if elsewhere > DISTURBED_CORES:
                self.warnings.append(f"round {number} {kind}: disturbed, {elsewhere} cores used elsewhere")
        self.rounds.append(entry)
        return f"round {number} {kind}: {brief(figures)}   cores used {entry.get('cores_used', '-')}"

    def of_kind(self, kind: str) -> list[Figures]:
        return [entry for entry in self.rounds if entry["kind"] == kind]


def brief(figures: Figures) -> str:
    shown = ("per_second", "failed", "mean_ms", "p50_ms", "p95_ms", "p99_ms")
    return "   ".join(f"{name} {figures[name]:,.6g}" for name in shown if figures.get(name) is not None)


# ---------------------------------------------------------------------------------------- what it ran on


def describe_versions(base_url: str, ca_file: Path | None, processes: list[Process]) -> dict[str, Any]:
    worker = next((process for process in processes if process.group == "app"), None)
    revision = first_line("git", "-C", str(STRESS), "rev-parse", "--short", "HEAD") or ""
    return {
        "appliance": read_health_version(base_url, ca_file),
        "revision": revision if re.fullmatch(r"[0-9a-f]+", revision) else None,
        "appliance_python": first_line(f"/proc/{worker.pid}/exe", "--version") if worker else None,
        "runner_python": platform.python_version(),
        "nginx": first_line("nginx", "-v"),
        "k6": first_line(shutil.which("k6") or str(Path.home() / "go/bin/k6"), "version"),
        "wrk": first_line("wrk", "-v"),
    }


def read_health_version(base_url: str, ca_file: Path | None) -> Any:
    trust = ssl.create_default_context(cafile=ca_file)
    try:
        reply = httpx.get(f"{base_url}/health", verify=trust, timeout=5, trust_env=False)
        return reply.json().get("version")
    except (httpx.TransportError, ValueError) as error:
        message = f"The appliance at {base_url} does not answer: {error}."
        raise CannotRun(message, "Is it up, and are --base-url and --ca right?") from error


def read_settings(data: Path | None) -> Any:
    """The appliance's settings file without anything that could be a secret."""
    file = data / "mastio.toml" if data else None
    if file is None or not file.exists():
        return None
    return without_secrets(tomllib.loads(file.read_text()))


def without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        hidden = {name: "(hidden)" for name, inner in value.items() if is_secret(name, inner)}
        return {name: without_secrets(inner) for name, inner in (value | hidden).items()}
    if isinstance(value, list):
        return [without_secrets(inner) for inner in value]
    return re.sub(r"//[^/@]*@", "//(hidden)@", value) if isinstance(value, str) else value


def is_secret(name: str, value: Any) -> bool:
    return isinstance(value, str) and not name.endswith("_file") and bool(SECRET_NAMES.search(name))


# ---------------------------------------------------------------------------------------- the result


def write_results(report: dict[str, Any], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(report, indent=2) + "\n")


def render_screen(report: dict[str, Any], outcome: Outcome) -> str:
    """One screen: the question, the medians, memory, and the verdict with its reasons."""
    machine = report["machine"]
    lines = [
        f"{report['scenario']}: {report['question']}",
        f"  on {machine['cores']} cores of {machine['processor']}, {report['date']}",
    ]
    for kind, figures in outcome.medians.items():
        shown = brief(figures) if isinstance(figures, dict) else figures
        lines.append(f"  {kind:31} {shown}")
    for name, entry in outcome.memory.items():
        drift = "too short to say" if entry["residual_drift"] is None else f"{entry['residual_drift']:+.2%}"
        lines.append(f"  memory of {name:13} {entry['last_bytes'] / 1e6:.1f} MB   residual drift {drift}")
    lines += [f"  warning  {line}" for line in outcome.warnings]
    lines += [f"  FAIL     {line}" for line in outcome.failures]
    return "\n".join([*lines, "FAILED" if outcome.failures else "passed"])
