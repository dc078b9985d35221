"""What ends soon is counted, and rendered as Prometheus reads it."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from mastio.exchange.records import Admin, Agent, ApiKey
from mastio.host.liveness import Liveness
from mastio.host.metrics import Telemetry
from mastio.operating.expiry import DAY, HOUR, count_within, measure
from mastio.pki.authority import Authority
from mastio.pki.rotate import rotate_intermediate
from mastio_audit.anchors import metrics as anchor_figures
from mastio_audit.log import reserve
from mastio_audit.sinks import metrics as figures
from mastio_limits import metrics as budget_figures
from mastio_policy import metrics as policy_figures

NOW = 1_800_000_000.0
ALERTS = Path(__file__).parents[3] / "operate" / "alerts.yml"


def agent(name: str, status: Any, left: float) -> Agent:
    return Agent(name, f"spiffe://t/agent/{name}", status, frozenset(), {}, "x5t", NOW + left)


def rendered(data: Path) -> dict[str, dict[tuple[str, ...], float]]:
    directory: Any = SimpleNamespace(
        agents={
            one.name: one
            for one in (
                agent("a", "active", -5), agent("b", "active", HOUR), agent("c", "active", DAY + 1),
                agent("d", "revoked", -5), agent("e", "suspended", 5),
            )
        },
        api_keys={"h": ApiKey("key_1", "a", "k", "h", 0.0, "op", expires_at=NOW + 60),
                  "i": ApiKey("key_2", "a", "k", "i", 0.0, "op")},
        admins={"x": Admin("x", "admin", "x", NOW + 3 * DAY), "y": Admin("y", "admin", "y", NOW - 1, revoked=True)},
        version=7,
    )  # fmt: skip
    authority = Authority.load(data, "t", NOW + 20)
    text = Telemetry(lambda: measure(authority, directory, lambda: NOW)).render().decode()
    return {
        family.name: {_values(sample.labels): sample.value for sample in family.samples}
        for family in text_string_to_metric_families(text)
    }


def _values(labels: dict[str, str]) -> tuple[str, ...]:
    return tuple(labels[name] for name in ("what", "kind", "status", "code", "id", "within") if name in labels)


def test_the_figures(tmp_path: Path) -> None:
    authority = Authority.ensure(tmp_path, "t", NOW)
    authority.issue_server(["localhost"], NOW)
    rotate_intermediate(tmp_path / "ca", "t", NOW, NOW + 10, NOW + DAY)
    found = rendered(tmp_path)
    ends = found["mastio_certificate_not_after_seconds"]
    assert set(ends) == {
        ("root", "root"), ("intermediate", "intermediate"), ("intermediate", "intermediate-2"), ("edge", "edge")
    }  # fmt: skip
    assert ends["edge", "edge"] == NOW + 30 * DAY
    expiring = found["mastio_credentials_expiring"]
    assert [expiring["leaf", str(within)] for within in (0, HOUR, DAY, 7 * DAY)] == [1, 2, 2, 3]
    assert [expiring["api_key", str(within)] for within in (0, HOUR)] == [0, 1]
    assert [expiring["admin_token", str(within)] for within in (0, DAY, 7 * DAY)] == [0, 0, 1]
    assert found["mastio_agents"] == {("active",): 3, ("suspended",): 1, ("revoked",): 1}
    assert found["mastio_directory_version"] == {(): 7}


def test_borders() -> None:
    assert count_within([NOW, NOW + HOUR, NOW + HOUR + 1], NOW) == {
        0: 1, HOUR: 2, 6 * HOUR: 3, DAY: 3, 7 * DAY: 3, 30 * DAY: 3
    }  # fmt: skip


def test_every_name_that_the_alerts_use_is_one_that_is_rendered(tmp_path: Path) -> None:
    Authority.ensure(tmp_path, "t", NOW)
    used = set(re.findall(r"mastio_[a-z_]+", ALERTS.read_text()))
    known = set(rendered(tmp_path)) | {"mastio_exchanges_total", figures.LAG, figures.LAST}
    known |= {anchor_figures.LAST, anchor_figures.EVERY, anchor_figures.FORKED}
    known |= {reserve.FREE, reserve.KEPT}
    known |= {budget_figures.LIMIT, budget_figures.SPENT, policy_figures.INVALID}
    known |= {one.name for one in Liveness(SimpleNamespace(words=[0] * 1000), range(1)).measure()}  # type: ignore[arg-type]
    assert used and used <= known
