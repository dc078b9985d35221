"""Checks that each hostile case of the run has a twin: the same request made right, which was served.

A pytest plugin. A server that refuses everything must not pass. `support.threats.judge` notes the cases in the process
where they run; here they are collected from all workers of pytest-xdist, and counted in the last lines.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.threats.judge import TALLY


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["refused"], output["served"] = sorted(TALLY.refused), sorted(TALLY.served)
    elif TALLY.refused - TALLY.served and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output = getattr(node, "workeroutput", {})
    TALLY.refused.update(output.get("refused", ()))
    TALLY.served.update(output.get("served", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not TALLY.refused:
        return
    with_twin = TALLY.refused & TALLY.served
    terminalreporter.line(f"{len(with_twin)} of {len(TALLY.refused)} negative cases have a twin that succeeds")
    for case in sorted(TALLY.refused - TALLY.served):
        terminalreporter.line(f"FAILED {case}: refused, but its twin was not served", red=True)
