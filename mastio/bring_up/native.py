"""Bring an appliance up on this host, and take it down: `mastio up|restart|down|status|logs`.

`deploy.sh --native` calls `python -m mastio.bring_up.native` with the same verbs, once Python is there. Running `up`
twice changes nothing; a failure is one sentence and a hint, exit status 2.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from mastio import __version__
from mastio.bring_up.up_settings import UpOptions, ensure_stub_port, open_private, write_settings
from mastio.exchange.errors import ConfigurationError, MastioError
from mastio.host.code_files import digest_code
from mastio.host.nginx import find_nginx
from mastio.plugin.collection import describe_first
from mastio.plugin.loading import collections_of, refuse
from mastio.process.plan import Plan, describe_settings, find_changes, read_plan

START_WITHIN = 60.0
STOP_WITHIN = 40.0
RESTART_WITHIN = 90.0
"""Seconds for the restart of each worker, and of the edge."""

COMMAND = "mastio"
SCRIPT = "./deploy.sh"


def main() -> int:
    parser = argparse.ArgumentParser(prog="deploy.sh")
    parser.add_argument("verb", choices=("up", "restart", "down", "status", "logs"))
    add_data(parser)
    add_settings(parser)
    args = parser.parse_args()
    return run(args.verb, args, SCRIPT)


def run(verb: str, args: argparse.Namespace, program: str = COMMAND) -> int:
    """Carry out a verb and return the exit status. `program`: how the user calls the verbs."""
    data = args.data.resolve()
    try:
        if program == COMMAND and (data / "compose.env").exists():
            raise ConfigurationError(f"The appliance of {data} runs in containers.", f"Use {SCRIPT}.")
        match verb:
            case "up":
                return up(data, args, program)
            case "restart":
                return restart(data, args, program)
            case "down":
                return down(data)
            case "status":
                return status(data)
            case _:
                return logs(data)
    except (ConfigurationError, MastioError) as error:
        print(f"mastio: {error.message} {error.hint}".rstrip(), file=sys.stderr)
        return 2


def add_data(parser: argparse.ArgumentParser) -> None:
    """The option of every verb."""
    parser.add_argument("--data", type=Path, default=Path("data"), help="data folder (default: ./data)")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """The options of `up` and `restart`."""
    parser.add_argument("--config", type=Path, help="settings file (default: DATA/mastio.toml)")
    parser.add_argument("--port", type=int, help="port of the edge (default: 9443)")
    parser.add_argument("--public-url", help="how clients reach it (default: https://localhost:PORT)")
    parser.add_argument("--workers", type=int, help="worker processes (default: 1)")
    parser.add_argument("--database", help="postgresql+asyncpg://… (default: SQLite in the data folder)")
    parser.add_argument(
        "--redact",
        action=argparse.BooleanOptionalAction,
        help="take cards, IBANs, national ids, keys and tokens out of requests (default: yes)",
    )
    parser.add_argument("--demo", action="store_true", help="add a stand-in provider, an agent and one proven call")


# --- up --------------------------------------------------------------------------------------------------------------


def up(data: Path, args: argparse.Namespace, program: str) -> int:
    """Start the appliance if it does not run, wait until it is ready, say how to use it."""
    nginx = find_nginx()
    if nginx is None:
        hint = "Install nginx." if program == COMMAND else f"Run {program} up as root once, or install nginx."
        raise ConfigurationError("nginx is not installed.", hint)
    config: Path = args.config.resolve() if args.config else data / "mastio.toml"
    write_settings(config, UpOptions(args.port, args.public_url, args.workers, args.database, args.redact))
    needs_stub = args.demo and ensure_stub_port(config)
    plan, problems = read_plan(data, config)
    refuse(problems)
    is_new = not (data / "bootstrap.json").exists()
    running = find_supervisor(data)
    if running is None:
        _verify_port(plan.settings.edge.bind, plan.settings.edge.port)
        _start(data, config, nginx)
    elif args.demo and needs_stub:
        _apply(data, running, program)
    wanted = describe_settings(plan)
    in_force = read_in_force(data) or wanted
    differing = find_changes(in_force, wanted)
    known = _await_ready(data, int(in_force["edge"]["port"]))
    print_welcome(data, known, _find_command(), Path("my-agent"), already=running is not None)
    if is_new:
        for sentence in describe_first(collections_of(plan.active), os.environ):
            print(f"{sentence}\n")
    done = _run_demo(data, plan.settings.server.stub_port) if args.demo else 0
    if differing:
        print(f"These settings differ from those in force; {program} restart applies them:")
        print("\n".join(f"  {line}" for line in differing))
    else:
        print(f"Redaction is {describe_redaction(plan)}.")
    return done


def restart(data: Path, args: argparse.Namespace, program: str) -> int:
    """Apply the settings to the running appliance, worker by worker, and wait until they are in force."""
    running = find_supervisor(data)
    if running is None:
        raise ConfigurationError("Mastio is not running.", f"Start it with {program} up.")
    config = _config_of(running) or data / "mastio.toml"
    if args.config and args.config.resolve() != config:
        raise ConfigurationError(f"The appliance was started with {config}.", "Use down and up for another file.")
    before = read_in_force(data)
    if before is None:
        raise ConfigurationError("An earlier version is running.", f"Use {program} down, then {program} up.")
    write_settings(config, UpOptions(args.port, args.public_url, args.workers, args.database, args.redact))
    plan, problems = read_plan(data, config)
    refuse(problems)
    if plan.settings.server.listen != before["server"]["listen"]:
        raise ConfigurationError("server.listen has changed.", f"{program} down and up apply it.")
    if plan.settings.edge.port != before["edge"]["port"]:
        _verify_port(plan.settings.edge.bind, plan.settings.edge.port)
    _apply(data, running, program)
    _await_ready(data, plan.settings.edge.port)
    applied = find_changes(before, read_in_force(data) or {})
    print("Mastio has restarted, worker by worker.")
    print("\n".join(f"  {line}" for line in applied) if applied else "  No setting was different.")
    return 0


def _apply(data: Path, supervisor: int, program: str) -> None:
    """Raises `ConfigurationError` where the settings could not be applied. One at a time."""
    known = _read_run(data, "in-force.json")
    if known.get("supervisor") != supervisor:
        raise ConfigurationError("An earlier version is running.", f"Use {program} down, then {program} up.")
    if known.get("code") != digest_code():
        raise ConfigurationError(
            "The code has changed since the appliance was started.", f"Use {program} down, then {program} up."
        )
    with (data / "run" / "restart-lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigurationError("Another restart is under way.", "Wait until it has ended.") from error
        _ask_restart(data, supervisor)


def _ask_restart(data: Path, supervisor: int) -> None:
    asked, done = secrets.token_hex(8), data / "run" / "restart-done"
    (data / "run" / "restart-asked").write_text(asked)
    os.kill(supervisor, signal.SIGUSR2)
    processes = 1 + len(list((data / "run").glob("worker-*.pid")))
    deadline = time.monotonic() + RESTART_WITHIN * (1 + processes)
    while time.monotonic() < deadline and find_supervisor(data) is not None:
        with contextlib.suppress(OSError, ValueError):
            said = json.loads(done.read_text("utf-8"))
            if said["asked"] == asked:
                if said["problem"]:
                    raise ConfigurationError(said["problem"], "What ran before goes on where it can.")
                return
        time.sleep(0.05)
    raise ConfigurationError("The appliance does not apply the settings.", f"See {data / 'logs' / 'mastio.log'}.")


def read_in_force(data: Path) -> dict[str, Any] | None:
    """The settings that the appliance was started with, or that were applied last. None: an earlier version runs."""
    known = _read_run(data, "in-force.json")
    is_its = known.get("supervisor") == find_supervisor(data)
    settings: dict[str, Any] | None = known.get("settings") if is_its else None
    return settings


def _read_run(data: Path, name: str) -> dict[str, Any]:
    try:
        known = json.loads((data / "run" / name).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _config_of(supervisor: int) -> Path | None:
    """The settings file that a supervisor was started with; None: the usual one."""
    try:
        words = Path(f"/proc/{supervisor}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return None
    return Path(os.fsdecode(words[words.index(b"--config") + 1])) if b"--config" in words[:-1] else None


def _verify_port(bind: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in bind else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((bind, port))
        except OSError as error:
            raise ConfigurationError(
                f"Port {port} cannot be used ({error.strerror}).", "Choose another: --port N."
            ) from error


def _start(data: Path, config: Path, nginx: str) -> None:
    (data / "logs").mkdir(mode=0o700, parents=True, exist_ok=True)
    command = [sys.executable, "-m", "mastio", "serve", "--data", str(data), "--config", str(config), "--edge", nginx]
    with open(data / "logs" / "mastio.log", "ab", opener=open_private) as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=_environment()
        )
        started = log.tell()
    deadline = time.monotonic() + START_WITHIN
    while find_supervisor(data) is None:
        if process.poll() is not None or time.monotonic() > deadline:
            _show_log(data, started)
            raise ConfigurationError("The appliance did not start.", "The lines above say why.")
        time.sleep(0.05)


def _show_log(data: Path, offset: int) -> None:
    with (data / "logs" / "mastio.log").open("rb") as log:
        log.seek(offset)
        sys.stderr.write(log.read()[-4000:].decode("utf-8", "replace"))


def _await_ready(data: Path, port: int) -> dict[str, str]:
    """`bootstrap.json`, once `/readyz` is 200 through the edge."""
    deadline = time.monotonic() + START_WITHIN
    said = "The edge does not answer."
    while time.monotonic() < deadline:
        try:
            known: dict[str, str] = json.loads((data / "bootstrap.json").read_text("utf-8"))
            trust = ssl.create_default_context(cafile=known["ca_file"])
            with urllib.request.urlopen(f"https://localhost:{port}/readyz", context=trust, timeout=5):
                return known
        except urllib.error.HTTPError as error:
            said = _detail(error)
        except (OSError, ValueError):
            if find_supervisor(data) is None:
                break
        time.sleep(0.05)
    raise ConfigurationError(said, f"See {data / 'logs' / 'mastio.log'}.")


def _detail(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["detail"])
    except (ValueError, KeyError):
        return f"The edge answers {error.code}."


def print_welcome(data: Path, known: dict[str, str], mastio: str, agent: Path, *, already: bool) -> None:
    """Prints how to use the appliance. `mastio` is the command to call, `agent` the folder for the example's
    identity."""
    url, ca, token = known["base_url"], known["ca_file"], known["admin_token_file"]
    short, call = ("", mastio) if mastio == COMMAND else (f'  M="{mastio}"\n', "$M")
    print(
        f"""Mastio {__version__} is {"already running" if already else "up"}.

  base URL        {url}
  CA fingerprint  {_colons(known["ca_sha256"])}
                  (openssl x509 -noout -fingerprint -sha256 -in {ca})
  admin token     {token}

First call: add a provider, enrol an agent, ask something.

{short}  {call} providers add --data {data} openai --base-url https://api.openai.com/v1 --api-key-from KEYFILE
  T=$({call} enrollments token --data {data} --name my-agent)
  {call} enroll --url {url} --ca {ca} --name my-agent --token "$T" --out {agent}
  {call} chat --identity {agent} --model openai/gpt-4o-mini "Hello"
"""
    )


def _find_command() -> str:
    """The command of this installation: its name alone if the PATH leads to it, otherwise its path."""
    own = Path(sys.executable).parent / COMMAND
    found = shutil.which(COMMAND)
    return COMMAND if found is not None and Path(found).resolve() == own.resolve() else str(own)


def _colons(fingerprint: str) -> str:
    """As OpenSSL prints it."""
    return ":".join(fingerprint[at : at + 2] for at in range(0, len(fingerprint), 2)).upper()


def describe_redaction(plan: Plan) -> str:
    """Describes as a phrase how personal data is treated that no redaction policy names."""
    values = [active.settings for active in plan.active if active.plugin.name == "redaction"]
    match getattr(values[0], "unspoken", None) if values else None:
        case "redact":
            return "on: cards, IBANs, national ids, keys and tokens are taken out of requests and put back in replies"
        case "flag":
            return "off: personal data goes upstream and is noted in the log; --redact turns it on"
        case "off":
            return "off: personal data goes upstream and is not looked for; --redact turns it on"
        case _:
            return "off: the plugin redaction is not active"


def _run_demo(data: Path, stub_port: int) -> int:
    """In a process of its own, which has the client's libraries."""
    sys.stdout.flush()
    command = [sys.executable, "-m", "mastio.bring_up.demo", "--data", str(data), "--stub-port", str(stub_port)]
    return subprocess.run(command, check=False, env=_environment()).returncode


def _environment() -> dict[str, str]:
    """The environment of Python processes: they import nothing from the folder that the operator happens to be in."""
    return {**os.environ, "PYTHONSAFEPATH": "1"}


# --- down, status, logs ---------------------------------------------------------------------------------------------


def find_supervisor(data: Path) -> int | None:
    """The process id of the running supervisor of this data folder."""
    try:
        pid = int((data / "run" / "supervisor.pid").read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid if b"serve" in command and os.fsencode(data) in command else None


def down(data: Path) -> int:
    """Stop everything; the data stays. Done as well when nothing runs."""
    pid = find_supervisor(data)
    if pid is None:
        print("Mastio is not running.")
        return 0
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_WITHIN
    while find_supervisor(data) is not None:
        if time.monotonic() > deadline:
            raise ConfigurationError("The appliance does not stop.", f"Look at process {pid}.")
        time.sleep(0.05)
    print("Mastio is down; its data is kept.")
    return 0


def status(data: Path) -> int:
    """Processes, versions, health, disk. Exit status 1 when it is not running or not ready."""
    print(f"Mastio {__version__}, data folder {data}")
    if find_supervisor(data) is None:
        print("not running")
        return 1
    for file in sorted((data / "run").glob("*.pid")):
        pid = int(file.read_text())
        print(f"  {file.stem:<12} pid {pid:<8} {_resident(pid)} MB resident")
    free = shutil.disk_usage(data).free
    size = sum(file.stat().st_size for file in (data / "db").glob("*") if file.is_file())
    print(f"  database     {size / 1e6:.1f} MB, {free / 1e9:.1f} GB free on its disk")
    try:
        known = json.loads((data / "bootstrap.json").read_text("utf-8"))
        plan, _ = read_plan(data)
        print(f"  redaction    {describe_redaction(plan)}")
        trust = ssl.create_default_context(cafile=known["ca_file"])
        with urllib.request.urlopen(f"https://localhost:{plan.settings.edge.port}/readyz", context=trust, timeout=5):
            print("  health       ready")
            return 0
    except urllib.error.HTTPError as error:
        print(f"  health       {_detail(error)}")
    except OSError as error:
        print(f"  health       the edge does not answer ({error})")
    return 1


def _resident(pid: int) -> str:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError):
        return "gone, 0"
    return f"{pages * os.sysconf('SC_PAGE_SIZE') / 1e6:.0f}"


def logs(data: Path) -> int:
    """Follow the logs until interrupted."""
    files = [str(data / "logs" / name) for name in ("mastio.log", "edge-error.log")]
    try:
        return subprocess.run(["tail", "-n", "100", "-F", *files], check=False).returncode
    except KeyboardInterrupt:
        return 0


def _say(text: str) -> None:
    print(f"mastio: {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
