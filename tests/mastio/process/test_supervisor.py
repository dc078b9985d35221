"""The supervisor without an appliance: what it does when a process does not start, hangs, or does not end.

A `Forks` stands where the fork server stands: each process that it makes is a small program.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mastio.process import supervisor as module
from mastio.process.forking import ForkError
from mastio.process.supervisor import Child, StartError, Supervisor
from support.appliance import wait_until
from support.ports import take_port

PLAN: dict[str, Any] = {
    "workers": 0, "stub_port": 0, "listen": "unix", "sockets": [], "log_bytes": 1000, "log_files": 1, "settings": {},
    "control_slot": 128,
}  # fmt: skip
STAYS = "import time, sys; print('up', flush=True); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {STAYS}"


class Forks:
    """`programs` by the name of the module; None: it cannot be forked."""

    is_running = True

    def __init__(self, **programs: str | None) -> None:
        self.programs = programs
        self.made: list[subprocess.Popen[bytes]] = []
        self.process = SimpleNamespace(pid=1)

    def fork(self, module: str, arguments: Sequence[str], descriptors: Mapping[str, int]) -> subprocess.Popen[bytes]:
        program = self.programs[module.rpartition(".")[2]]
        if program is None:
            raise ForkError("The fork server does not answer.")
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", program, *arguments], stdout=descriptors.get("stdout", subprocess.DEVNULL)
        )
        self.made.append(process)
        return process

    def close(self) -> None:
        for process in self.made:
            process.kill()
            process.wait()


Open = Callable[..., Supervisor]


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Open]:
    """Makes a supervisor of the folder, whose forked processes are these programs. All are ended at the end."""
    made: list[Supervisor] = []
    handled = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR2)
    kept, descriptors = [signal.getsignal(number) for number in handled], resource.getrlimit(resource.RLIMIT_NOFILE)

    def make(**programs: str | None) -> Supervisor:
        one = Supervisor(tmp_path, None, None)
        for folder in ("run", "logs"):
            (tmp_path / folder).mkdir(exist_ok=True)
        one._forks = Forks(**programs)  # type: ignore[assignment]
        made.append(one)
        return one

    yield make
    for one in made:
        for child in one._children:
            if child.process is not None and child.process.poll() is None:
                child.process.kill()
                child.process.wait()
        one._forks.close()  # type: ignore[union-attr]
    for number, handler in zip(handled, kept, strict=True):
        signal.signal(number, handler)
    resource.setrlimit(resource.RLIMIT_NOFILE, descriptors)


def says(plan: Mapping[str, Any]) -> str:
    """A program that answers with this plan, as the preparation does."""
    return f"print({json.dumps(json.dumps(plan))})"


def running(program: str, name: str = "worker-0") -> Child:
    """A child whose program runs and has its signal handlers."""
    process = subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"up\n"
    process.stdout.close()
    return Child(name, [], signal.SIGTERM, process=process)


class TestPreparing:
    def test_the_plan_is_what_the_preparation_prints(self, supervise: Open) -> None:
        assert supervise(prepare=says(PLAN))._prepare(10) == PLAN

    def test_code_that_cannot_be_loaded(self, supervise: Open) -> None:
        with pytest.raises(StartError, match="The code of the appliance cannot be loaded"):
            supervise(prepare=None)._prepare(10)

    def test_a_preparation_that_fails_has_said_why(self, supervise: Open) -> None:
        with pytest.raises(StartError) as caught:
            supervise(prepare=f"{says(PLAN)}; raise SystemExit(2)")._prepare(10)
        assert str(caught.value) == "", "and is not explained a second time"

    @pytest.mark.parametrize("stopping", [True, False])
    def test_a_preparation_that_hangs_is_ended(self, supervise: Open, *, stopping: bool) -> None:
        one = supervise(prepare=STAYS)
        one._stopping = stopping
        with pytest.raises(StartError, match="not prepared in time"):
            one._prepare(60 if stopping else 0.2)
        assert one._forks.made[0].returncode == -signal.SIGKILL  # type: ignore[union-attr]


class TestRunning:
    def test_it_ends_when_told_and_leaves_nothing_that_says_it_runs(
        self, supervise: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With a stand-in provider and no edge, as `up --demo` in containers has it."""
        place = str(tmp_path / "run" / "control.sock")
        one = supervise(
            prepare=says({**PLAN, "stub_port": 1, "control_socket": place}),
            program=f"import signal; signal.signal(signal.SIGTERM, signal.SIG_DFL); {STAYS}",
        )
        seen: list[str] = []

        def end_soon(self: Supervisor) -> None:
            seen.extend(file.name for file in (tmp_path / "run").iterdir())
            os.kill(os.getpid(), signal.SIGTERM)

        monkeypatch.setattr(Supervisor, "_rotate_logs", end_soon)
        monkeypatch.setattr(Supervisor, "_stub", lambda self, port: Child("stub-llm", ["sleep", "60"], signal.SIGTERM))
        assert one.run() == 0
        assert {"in-force.json", "supervisor.pid", "stub-llm.pid", "control.pid"} <= set(seen)
        assert {file.name for file in (tmp_path / "run").iterdir()} == {"lock", "metrics", "control.sock"}

    def test_a_process_that_stands_still_is_replaced(
        self, supervise: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It has served, and gives no sign of life any more: a stopped process or a stuck event loop."""
        one = supervise(data_plane=STAYS)
        child = Child("worker-0", [], signal.SIGTERM, module="mastio.process.data_plane", slot=0)
        one._start(child)
        stuck = child.process
        signs = {"last": 0.0}
        monkeypatch.setattr(module, "read_sign", lambda descriptor, slot: signs["last"])
        one._look(child)
        assert child.process is stuck, "one that has given no sign yet is about to serve"
        signs["last"] = child.started + 1e-6
        one._look(child)
        assert child.process is stuck, "one that was alive a moment ago is left alone"
        monkeypatch.setattr(module, "STANDSTILL", 0.0)
        monkeypatch.setattr(one, "_awake_since", time.monotonic() + 60)
        one._look(child)
        assert child.process is stuck, "after a pause of all processes each has time to give a sign again"
        monkeypatch.setattr(one, "_awake_since", 0.0)
        one._look(child)
        assert stuck is not None and stuck.returncode == -signal.SIGKILL
        wait_until(lambda: one._look(child) is None and child.process not in (None, stuck), 10, "it is replaced")

    def test_the_stand_in_provider_is_a_program_of_its_own(self, supervise: Open) -> None:
        child = supervise()._stub(4711)
        assert child.command[1:] == ["-m", "mastio", "stub-llm", "--port", "4711", "--latency", "20ms"]

    def test_workers_listen_on_ports_that_follow_each_other(self, supervise: Open) -> None:
        port = take_port()
        with supervise()._listen({"listen": f"127.0.0.1:{port - 1}"}, 1, "") as listener:
            assert listener.getsockname() == ("127.0.0.1", port)
            with socket.create_connection(("127.0.0.1", port), timeout=5):
                pass

    def test_a_worker_that_cannot_be_forked_is_tried_again(
        self, supervise: Open, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        one = supervise(data_plane=None)
        child = Child("worker-0", [], signal.SIGTERM, module="mastio.process.data_plane")
        one._look(child)
        assert child.process is None and "worker-0 is not started: The fork server" in capsys.readouterr().err
        one._look(child)
        assert capsys.readouterr().err == "", "not at once: that would spin"
        one._forks.programs["data_plane"] = STAYS  # type: ignore[union-attr]
        child.restart_at = 0.0
        one._look(child)
        assert child.process is not None and child.process.poll() is None
        assert (tmp_path / "run" / "worker-0.pid").read_text() == f"{child.process.pid}\n"

    def test_a_look_at_the_certificate_that_hangs_is_ended_and_tried_again(
        self, supervise: Open, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "RENEW_WITHIN", 0.1)
        one = supervise(prepare=STAYS)
        one._published = one._look_at_edge()
        one._renew_at = 1e12
        one._renew()
        assert "not looked at in time; it is tried again" in capsys.readouterr().err
        assert one._renew_at < 1e12
        assert one._forks.made[0].wait(10) == -signal.SIGKILL  # type: ignore[union-attr]

    def test_certificates_that_were_renewed_are_said_without_an_edge_of_its_own(
        self, supervise: Open, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        one = supervise(prepare="open('edge/server.crt', 'w').close()".replace("edge/", f"{tmp_path}/edge/"))
        (tmp_path / "edge").mkdir()
        one._published = one._look_at_edge()
        assert one._published == (0, 0, 0), "none is there yet"
        one._renew()
        assert one._published != (0, 0, 0) and "certificates were renewed" in capsys.readouterr().err

    def test_logs_that_cannot_be_rotated_stop_nothing(
        self, supervise: Open, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def rotate() -> None:
            raise OSError(28, "No space left on device")

        one = supervise()
        one._logs = SimpleNamespace(rotate=rotate)  # type: ignore[assignment]
        one._rotate_logs()
        assert "the log files are not rotated: No space left on device" in capsys.readouterr().err
        one._rotate_logs()
        assert capsys.readouterr().err == "", "the next look is later"

    def test_a_child_that_does_not_end_is_killed(self, supervise: Open, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "STOP_WITHIN", 0.1)
        one = supervise()
        one._children = [running(STUBBORN)]
        one._stop_all()
        assert one._children[0].process is not None
        assert one._children[0].process.returncode == -signal.SIGKILL

    def test_a_stop_before_any_process_was_forked(self, supervise: Open, tmp_path: Path) -> None:
        one = supervise()
        forks, one._forks = one._forks, None
        one._children = [Child("worker-0", [], signal.SIGTERM)]
        (tmp_path / "run" / "worker-0.pid").touch()
        one._stop_all()
        one._forks = forks
        assert not (tmp_path / "run" / "worker-0.pid").exists()


class TestOtherSettings:
    @pytest.fixture
    def with_stub(self, supervise: Open, monkeypatch: pytest.MonkeyPatch) -> Supervisor:
        """It runs a stand-in provider on port 1."""
        sleeping = [sys.executable, "-S", "-c", STAYS]
        monkeypatch.setattr(
            Supervisor, "_stub", lambda self, port: Child("stub-llm", [*sleeping, str(port)], signal.SIGTERM)
        )
        one = supervise()
        one._plan = {**PLAN, "stub_port": 1}
        child = one._stub(1)
        one._children.append(child)
        one._start(child)
        return one

    def test_the_stand_in_provider_moves_to_another_port(self, with_stub: Supervisor, tmp_path: Path) -> None:
        (before,) = with_stub._children
        plan = {**PLAN, "stub_port": 2}
        exhaust(with_stub._apply_plan(plan))
        (after,) = with_stub._children
        assert before.process is not None and before.process.poll() is not None
        assert after.command[-1] == "2" and after.process is not None and after.process.poll() is None
        assert (tmp_path / "run" / "stub-llm.pid").read_text() == f"{after.process.pid}\n"
        assert json.loads((tmp_path / "run" / "in-force.json").read_text())["settings"] == plan["settings"]

    def test_the_stand_in_provider_is_turned_off(self, with_stub: Supervisor, tmp_path: Path) -> None:
        (before,) = with_stub._children
        exhaust(with_stub._apply_plan(PLAN))
        assert with_stub._children == [] and not (tmp_path / "run" / "stub-llm.pid").exists()
        assert before.process is not None and before.process.poll() is not None

    def test_another_listener_needs_a_new_start(self, with_stub: Supervisor) -> None:
        (before,) = with_stub._children
        with pytest.raises(StartError, match="mastio down and mastio up"):
            exhaust(with_stub._apply_plan({**PLAN, "listen": "127.0.0.1:1"}))
        assert with_stub._children == [before] and before.process is not None and before.process.poll() is None

    def test_a_stubborn_process_is_killed_and_no_worker_signal_is_sent_to_it(
        self, supervise: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """SIGUSR1 ends a program that does not know it: only workers close their connections first."""
        monkeypatch.setattr(module, "STOP_WITHIN", 0.2)
        child = running(STUBBORN, "stub-llm")
        exhaust(supervise()._end(child))
        assert child.process is not None and child.process.wait(10) == -signal.SIGKILL and not child.is_kept

    @pytest.mark.parametrize("ends", [True, False])
    def test_a_worker_that_does_not_become_ready_is_named(
        self, supervise: Open, monkeypatch: pytest.MonkeyPatch, *, ends: bool
    ) -> None:
        one = supervise(data_plane="raise SystemExit(3)" if ends else STAYS)
        monkeypatch.setattr(module, "READY_WITHIN", 60.0 if ends else 0.1)
        child = Child("worker-0", [], signal.SIGTERM, module="mastio.process.data_plane")
        one._look(child)
        waiting = one._await_ready(child)

        def has_given_up() -> bool:
            one._look(child)
            try:
                next(waiting)
            except StartError as error:
                assert "worker-0 does not start with these settings" in str(error)
                return True
            return False

        wait_until(has_given_up, 10, "it is named")

    def test_what_cannot_be_prepared_is_told_to_whoever_asked(self, supervise: Open, tmp_path: Path) -> None:
        one = supervise(prepare="raise SystemExit(2)")
        (tmp_path / "run" / "restart-asked").write_text("word")
        one._is_restart_asked = True
        wait_until(lambda: one._step_restart() or (tmp_path / "run" / "restart-done").exists(), 10, "it is answered")
        told = json.loads((tmp_path / "run" / "restart-done").read_text())
        assert told == {"asked": "word", "problem": "The settings cannot be used; logs/mastio.log says why."}

    def test_an_answer_that_cannot_be_written_stops_nothing(
        self, supervise: Open, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        one = supervise(prepare="raise SystemExit(2)")
        (tmp_path / "run" / "restart-asked").write_text("word")
        (tmp_path / "run" / "restart-done").mkdir()
        (tmp_path / "run" / "restart-done" / "full").touch()
        one._is_restart_asked = True
        one._step_restart()
        assert "what became of the restart cannot be written" in capsys.readouterr().err
        one._step_restart()
        assert one._restart is None, "another one may be asked for"


def exhaust(steps: Iterator[None]) -> None:
    for _ in steps:
        pass
