"""Keeps the processes of one appliance running on this host: control, workers, and in native mode the edge.

Standard library only: it must stay small and never fail for want of a module. It opens their sockets itself, so that a
killed process loses no waiting connection, replaces what dies, renews the edge's certificate in time, and holds a lock
so that no second appliance runs on one data folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from mastio.host.code_files import digest_code
from mastio.host.control_down import ControlDown
from mastio.host.host_memory import make_host_memory, read_sign
from mastio.host.log_files import LogFiles
from mastio.process.forking import Forked, ForkError, ForkServer
from mastio.process.reloading import EdgeReload

PR_SET_PDEATHSIG = 1
RENEW_EVERY = 3600.0
"""Seconds between two looks at the edge's certificate; it is renewed with a third of its life left."""

RENEW_WITHIN = 10.0
"""Seconds that a look may take: nothing that died is replaced meanwhile."""

LOGS_EVERY = 10.0
"""Seconds between two looks at the size of the log files."""

STOP_WITHIN = 25.0
CLOSING = 2.5
"""Seconds in which a worker that is to be replaced ends its connections; the edge keeps an idle one for 2."""

READY_WITHIN = 30.0
PREPARE_WITHIN = 900.0
"""Seconds that the preparation may take at a start, migrations of the database included."""

PREPARE_AGAIN_WITHIN = 60.0
"""The same while the appliance runs: nothing else is looked after meanwhile."""
STANDSTILL = 30.0
"""Seconds without a sign of life after which a process that runs is killed, and so replaced."""

QUICK = 2.0
"""A process that lived shorter than this is restarted with a pause, so that a broken one does not spin."""

_libc = ctypes.CDLL(None)


class StartError(Exception):
    """The appliance cannot be started: one sentence and a hint."""


@dataclass
class Child:
    """A process to be kept running. With a `module` it is forked and runs that module with `command` as arguments;
    otherwise `command` is a program."""

    name: str
    command: list[str]
    stop_signal: signal.Signals
    module: str = ""
    slot: int = -1
    """Where a process that serves gives its signs of life; -1: none are expected."""
    listener: int = -1
    process: subprocess.Popen[bytes] | Forked | None = None
    started: float = 0.0
    pause: float = 0.0
    restart_at: float = field(default=0.0)
    is_kept: bool = True
    """True if the process is started again when it ends."""


class Supervisor:
    """One appliance's processes. `run` returns when told to stop, with everything stopped."""

    def __init__(self, data: Path, config: Path | None, nginx: str | None) -> None:
        self._data = data
        self._config = config
        self._nginx = nginx
        self._children: list[Child] = []
        self._stopping = False
        self._renew_at = 0.0
        self._awake_since = 0.0
        """When this process last went on after a pause, such as one of its whole container: monotonic seconds."""
        self._published: tuple[int, ...] = ()
        self._reload: EdgeReload | None = None
        self._logs: LogFiles | None = None
        self._logs_at = 0.0
        self._environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(data / "run" / "metrics")}
        self._lock = -1
        self._host_memory = make_host_memory()
        self._forks: ForkServer | None = None
        self._plan: dict[str, Any] = {}
        self._code = digest_code()
        self._loaded: dict[Path, bytes] = {}
        """The configuration that the edge runs with."""
        self._is_restart_asked = False
        self._restart: Iterator[None] | None = None
        self._control_down = ControlDown(data, _say)

    def run(self) -> int:
        """Start, keep and stop. The exit status of the command."""
        (self._data / "run").mkdir(mode=0o711, parents=True, exist_ok=True)
        self._take_lock()
        self._clear_metrics()
        _raise_descriptors()
        plan = self._prepare(PREPARE_WITHIN)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGHUP, self._look_now)
        signal.signal(signal.SIGUSR2, self._ask_restart)
        self._put_in_force(plan)
        self._write_pid("supervisor", os.getpid())
        self._children.append(self._control(plan))
        for slot in range(plan["workers"]):
            self._children.append(self._worker(slot, self._listen(plan, slot, plan["sockets"][slot])))
        if plan["stub_port"]:
            self._children.append(self._stub(plan["stub_port"]))
        if self._nginx is not None:
            self._children.append(self._edge(self._nginx))
            self._reload = EdgeReload(self._data / "run" / "edge-closing")
            self._loaded = self._read_rendered()
        self._published = self._look_at_edge()
        self._control_down.begin(time.monotonic(), READY_WITHIN)
        try:
            for child in self._children:
                self._start(child)
            self._keep()
        finally:
            self._stop_all()
        return 0

    # --- before the first process -----------------------------------------------------------------------------------

    def _take_lock(self) -> None:
        """One appliance for one data folder. Kept until this process ends, however it ends."""
        self._lock = os.open(self._data / "run" / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StartError(
                "Another appliance runs on this data folder. Stop it with mastio down, or use another --data."
            ) from error

    def _prepare(self, seconds: float) -> dict[str, Any]:
        reading, writing = os.pipe()
        with os.fdopen(reading, "rb", buffering=0) as answer:
            try:
                process = self._fork("mastio.process.prepare", self._arguments(), stdout=writing)
            except ForkError as error:
                raise StartError("The code of the appliance cannot be loaded. The lines above say why.") from error
            finally:
                os.close(writing)
            said, until = bytearray(), time.monotonic() + seconds
            while True:
                if select.select([answer], [], [], 0.1)[0]:
                    piece = answer.read(65536)
                    if not piece:
                        break
                    said += piece
                elif self._stopping or time.monotonic() > until:
                    process.kill()
                    process.wait()
                    raise StartError("The data folder is not prepared in time.")
        if process.wait() != 0:
            raise StartError("")  # it has said why
        plan: dict[str, Any] = json.loads(said)
        return plan

    def _put_in_force(self, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._logs = LogFiles(self._data / "logs", plan["log_bytes"], plan["log_files"], self._reopen_logs)
        in_force = {"supervisor": os.getpid(), "code": self._code, "settings": plan["settings"]}
        self._write("in-force.json", json.dumps(in_force))

    def _arguments(self, *more: str) -> list[str]:
        config = ["--config", str(self._config)] if self._config else []
        return ["--data", str(self._data), *config, *more]

    def _fork(self, module: str, arguments: list[str], **descriptors: int) -> Forked:
        """Raises `ForkError`. A fork server that has ended is replaced; its processes have ended with it."""
        if self._forks is None or not self._forks.is_running:
            command = [sys.executable, "-m", "mastio.process.forked", str(self._data), str(self._config or "")]
            self._forks = ForkServer(command, self._environment, _die_with_parent(signal.SIGTERM))
            self._write_pid("fork-server", self._forks.process.pid)
        return self._forks.fork(module, arguments, descriptors)

    def _clear_metrics(self) -> None:
        """Counters begin at zero with each start; the files are those of the processes that serve."""
        folder = self._data / "run" / "metrics"
        folder.mkdir(exist_ok=True)
        for file in folder.glob("*.db"):
            file.unlink()

    def _listen(self, plan: dict[str, Any], slot: int, file: str) -> socket.socket:
        if plan["listen"] != "unix":
            host, _, port = plan["listen"].rpartition(":")
            return socket.create_server((host, int(port) + slot), backlog=4096)
        path = Path(file)
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(4096)
        return listener

    def _control(self, plan: dict[str, Any]) -> Child:
        slot = plan["control_slot"]
        listener = self._listen(plan, slot, plan["control_socket"])
        return self._server("control", "mastio.control.program", slot, listener)

    def _worker(self, slot: int, listener: socket.socket) -> Child:
        return self._server(f"worker-{slot}", "mastio.process.data_plane", slot, listener)

    def _server(self, name: str, module: str, slot: int, listener: socket.socket) -> Child:
        fd = listener.detach()
        arguments = self._arguments("--slot", str(slot), "--fd", "{listener}", "--memory", "{memory}")
        return Child(name, arguments, signal.SIGTERM, module=module, slot=slot, listener=fd)

    def _stub(self, port: int) -> Child:
        command = [sys.executable, "-m", "mastio", "stub-llm", "--port", str(port), "--latency", "20ms"]
        return Child("stub-llm", command, signal.SIGTERM)

    def _edge(self, nginx: str) -> Child:
        (self._data / "run" / "edge-body").mkdir(exist_ok=True)
        command = [nginx, "-p", f"{self._data / 'edge'}/", "-c", "nginx.conf", "-g", "daemon off;"]
        command += ["-e", str(self._data / "logs" / "edge-error.log")]
        return Child("edge", command, signal.SIGQUIT)

    # --- while they run ---------------------------------------------------------------------------------------------

    def _start(self, child: Child) -> None:
        child.started = time.monotonic()
        if child.module:
            (self._data / "run" / f"{child.name}.ready").unlink(missing_ok=True)
            child.process = self._fork(child.module, child.command, listener=child.listener, memory=self._host_memory)
        else:
            child.process = subprocess.Popen(
                child.command,
                stdin=subprocess.DEVNULL,
                env=self._environment,
                # Without its supervisor an appliance would run unseen; the signal survives exec.
                preexec_fn=_die_with_parent(child.stop_signal),
            )
        self._write_pid(child.name, child.process.pid)

    def _keep(self) -> None:
        """Replace what dies, until told to stop."""
        self._renew_at = time.monotonic() + RENEW_EVERY
        looked_at = self._awake_since = time.monotonic()
        while not self._stopping:
            if time.monotonic() - looked_at > STANDSTILL / 2:
                self._awake_since = time.monotonic()
            looked_at = time.monotonic()
            for child in self._children:
                self._look(child)
            self._look_at_control()
            if time.monotonic() >= self._renew_at or self._look_at_edge() != self._published:
                self._renew_at = time.monotonic() + RENEW_EVERY
                self._renew()
            self._step_reload()
            self._step_restart()
            self._rotate_logs()
            time.sleep(0.1)

    def _look(self, child: Child) -> None:
        if not child.is_kept:
            return
        now = time.monotonic()
        if child.process is not None and child.slot >= 0:
            signed_at = read_sign(self._host_memory, child.slot)
            if signed_at > child.started and now - max(signed_at, self._awake_since) > STANDSTILL:
                _say(f"{child.name} stands still for {STANDSTILL:.0f} s and is replaced")
                child.process.kill()
                child.process.wait()
        if child.process is not None and child.process.poll() is not None:
            _say(f"{child.name} ended with status {child.process.returncode}")
            child.pause = min(5.0, child.pause * 2 or 0.2) if now - child.started < QUICK else 0.0
            child.process, child.restart_at = None, now + child.pause
        if child.process is None and now >= child.restart_at and not self._stopping:
            try:
                self._start(child)
            except ForkError as error:
                _say(f"{child.name} is not started: {error}")
                child.restart_at = now + 1.0

    def _look_at_control(self) -> None:
        control = self._children[0]
        is_running = control.process is not None and control.process.poll() is None
        with contextlib.suppress(OSError):  # a disk that is full now is not later
            signed_at = read_sign(self._host_memory, self._plan["control_slot"])
            self._control_down.look(time.monotonic(), is_running=is_running, signed_at=signed_at)

    def _renew(self) -> None:
        """Renew the edge's certificate if it is due; when its files changed, by this or by a rotation, reload it."""
        try:
            renewing = self._fork("mastio.process.prepare", self._arguments("--renew"))
            try:
                renewing.wait(RENEW_WITHIN)
            except subprocess.TimeoutExpired:
                renewing.kill()
                raise
        except (ForkError, subprocess.TimeoutExpired):
            _say("the edge's certificate was not looked at in time; it is tried again")
            self._renew_at = time.monotonic() + RENEW_WITHIN
        published = self._look_at_edge()
        if published == self._published:
            return
        self._published = published
        _say("the edge's certificates were renewed")
        if self._reload is not None:
            self._reload.begin(time.monotonic())

    def _step_reload(self) -> None:
        for child in self._children:
            if child.name == "edge" and isinstance(child.process, subprocess.Popen) and self._reload is not None:
                self._reload.step(time.monotonic(), child.process)

    def _rotate_logs(self) -> None:
        if self._logs is None or time.monotonic() < self._logs_at:
            return
        self._logs_at = time.monotonic() + LOGS_EVERY
        try:
            self._logs.rotate()
        except OSError as error:
            _say(f"the log files are not rotated: {error.strerror}")

    def _reopen_logs(self) -> None:
        for child in self._children:
            if child.name == "edge" and child.process is not None and child.process.poll() is None:
                child.process.send_signal(signal.SIGUSR1)

    def _look_at_edge(self) -> tuple[int, ...]:
        """Changes when one of the certificate files of the edge is replaced, or the anchor that clients are given."""
        return tuple(_written(self._data / name) for name in ("edge/server.crt", "edge/clients.pem", "ca/ca.crt"))

    def _write_pid(self, name: str, pid: int) -> None:
        self._write(f"{name}.pid", f"{pid}\n")

    def _write(self, name: str, content: str) -> None:
        """Put a file of `run/` in place whole: nobody reads half of it."""
        written = self._data / "run" / f"{name}.new"
        written.write_text(content)
        if not name.endswith(".pid"):
            written.chmod(0o600)
        written.replace(self._data / "run" / name)

    def _look_now(self, _: int, __: FrameType | None) -> None:
        """SIGHUP: whether the edge's certificate is due, and how large the log files are, is looked at now."""
        self._renew_at = self._logs_at = 0.0

    # --- other settings ---------------------------------------------------------------------------------------------

    def _ask_restart(self, _: int, __: FrameType | None) -> None:
        """SIGUSR2: apply the settings file as it is now, process by process."""
        self._is_restart_asked = True

    def _step_restart(self) -> None:
        if self._restart is None and self._is_restart_asked:
            self._is_restart_asked = False
            self._restart = self._apply()
        if self._restart is not None and next(self._restart, self) is self:
            self._restart = None

    def _apply(self) -> Iterator[None]:
        """Yields while it waits; what is looked after is looked after meanwhile. Ends with the file that says how."""
        asked = problem = ""
        try:
            asked = (self._data / "run" / "restart-asked").read_text()
            yield from self._apply_plan(self._prepare(PREPARE_AGAIN_WITHIN))
        except (StartError, ForkError, OSError, ValueError) as error:
            problem = str(error) or "The settings cannot be used; logs/mastio.log says why."
        try:
            self._write("restart-done", json.dumps({"asked": asked, "problem": problem}))
        except OSError as error:
            _say(f"what became of the restart cannot be written: {error.strerror}")

    def _apply_plan(self, plan: dict[str, Any]) -> Iterator[None]:
        if plan["listen"] != self._plan["listen"]:
            raise StartError("server.listen is applied by mastio down and mastio up.")
        control = [child for child in self._children if child.name == "control"]
        workers = [child for child in self._children if child.module and child not in control]
        if plan["stub_port"] != self._plan["stub_port"]:
            yield from self._replace_stub(plan["stub_port"])
        for slot in range(plan["workers"]):
            if slot < len(workers):
                yield from self._replace(workers[slot])
            else:
                child = self._worker(slot, self._listen(plan, slot, plan["sockets"][slot]))
                self._children.insert(len(control) + slot, child)
                self._start(child)
                yield from self._await_ready(child)
        rendered = self._read_rendered()
        if rendered != self._loaded and self._reload is not None:
            self._reload.begin(time.monotonic())
            while self._reload.is_busy:
                yield
            if self._reload.was_refused:
                raise StartError("The edge does not take its new configuration; logs/edge-error.log says why.")
            self._loaded = rendered
        for child in workers[plan["workers"] :]:
            yield from self._end(child)
            self._forget(child)
        for child in control:  # last: it ends what workers left that are not there any more
            yield from self._replace(child)
        self._put_in_force(plan)

    def _replace(self, child: Child) -> Iterator[None]:
        yield from self._end(child)
        child.process, child.is_kept, child.pause, child.restart_at = None, True, 0.0, 0.0
        (self._data / "run" / f"{child.name}.ready").unlink(missing_ok=True)
        self._look(child)  # which tries again what fails
        yield from self._await_ready(child)

    def _end(self, child: Child) -> Iterator[None]:
        """A worker first ends its idle connections, so that no request meets a closed one; then it finishes what is
        open, while new connections wait in its socket."""
        child.is_kept = False
        for number, seconds in ((signal.SIGUSR1, CLOSING), (child.stop_signal, STOP_WITHIN), (signal.SIGKILL, 5.0)):
            if number == signal.SIGUSR1 and not child.module:
                continue
            if child.process is None or child.process.poll() is not None:
                return
            child.process.send_signal(number)
            until = time.monotonic() + seconds
            while child.process.poll() is None and time.monotonic() < until:
                yield

    def _await_ready(self, child: Child) -> Iterator[None]:
        until = time.monotonic() + READY_WITHIN
        while not (self._data / "run" / f"{child.name}.ready").exists():
            if child.pause or time.monotonic() > until:  # it ended at once, or takes too long
                raise StartError(f"{child.name} does not start with these settings; logs/mastio.log says why.")
            yield

    def _replace_stub(self, port: int) -> Iterator[None]:
        for child in [child for child in self._children if child.name == "stub-llm"]:
            yield from self._end(child)
            self._forget(child)
        if port:
            child = self._stub(port)
            self._children.insert(sum(bool(one.module) for one in self._children), child)
            self._start(child)

    def _read_rendered(self) -> dict[Path, bytes]:
        return {file: file.read_bytes() for file in (self._data / "edge").rglob("*.conf")}

    def _forget(self, child: Child) -> None:
        self._children.remove(child)
        if child.listener >= 0:
            os.close(child.listener)
        for kind in ("pid", "ready"):
            (self._data / "run" / f"{child.name}.{kind}").unlink(missing_ok=True)

    # --- the end ----------------------------------------------------------------------------------------------------

    def _stop(self, _: int, __: FrameType | None) -> None:
        self._stopping = True

    def _stop_all(self) -> None:
        """The edge first, so that nothing new arrives, then the workers, which let open exchanges finish."""
        for child in reversed(self._children):
            if child.process is not None and child.process.poll() is None:
                child.process.send_signal(child.stop_signal)
        deadline = time.monotonic() + STOP_WITHIN
        for child in reversed(self._children):
            if child.process is None:
                continue
            try:
                child.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()
        if self._forks is not None:
            self._forks.close()
            (self._data / "run" / "fork-server.pid").unlink(missing_ok=True)
        self._control_down.remove()
        left = [f"{child.name}.{kind}" for child in self._children for kind in ("pid", "ready")]
        left += ["control-problems", "in-force.json", "restart-asked", "restart-done", "restart-lock"]
        for name in (*left, "supervisor.pid"):
            (self._data / "run" / name).unlink(missing_ok=True)


def _die_with_parent(stop_signal: signal.Signals) -> Callable[[], None]:
    parent = os.getpid()

    def ask() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(stop_signal))
        if os.getppid() != parent:
            os._exit(1)

    return ask


def _written(file: Path) -> int:
    """Modification time of the file, in nanoseconds; 0 if there is no file."""
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _raise_descriptors() -> None:
    """Raise the limit of open files to the hard limit; workers and edge inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _say(text: str) -> None:
    print(f"mastio: {text}", file=sys.stderr, flush=True)
