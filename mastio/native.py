"""Bring an appliance up on this host, and take it down: what `deploy.sh --native` calls, once Python is there.

`python -m mastio.native up|restart|down|status|logs`. Running `up` twice changes nothing; a failure is one sentence and
a hint, exit status 2.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mastio import __version__
from mastio.code_files import digest_code
from mastio.errors import ConfigurationError, MastioError
from mastio.first_providers import read_first_providers
from mastio.nginx import find_nginx
from mastio.plan import Plan, describe_settings, find_changes, read_plan
from mastio.plugins import refuse
from mastio.settings_file import set_values

START_WITHIN = 60.0
STOP_WITHIN = 40.0
RESTART_WITHIN = 90.0
"""Seconds for the restart of each worker, and of the edge."""

COMMAND = "mastio"

TEMPLATE = """\
# Settings of this appliance. Every key is explained in docs/settings.md; `mastio check` prints what is in force.

[server]
public_url = "{public_url}"
trust_domain = "{trust_domain}"
workers = {workers}

[edge]
port = {port}

[database]
url = "{database}"

[redaction]
unspoken = "{unspoken}"
"""


@dataclass(frozen=True, slots=True)
class Wish:
    """The options of `up`; None where the operator said nothing."""

    port: int | None
    public_url: str | None
    workers: int | None
    database: str | None
    redact: bool | None = None


def main() -> int:
    args = _parser().parse_args()
    data = args.data.resolve()
    try:
        match args.verb:
            case "up":
                return up(data, args)
            case "restart":
                return restart(data, args)
            case "down":
                return down(data)
            case "status":
                return status(data)
            case _:
                return logs(data)
    except (ConfigurationError, MastioError) as error:
        print(f"mastio: {error.message} {error.hint}".rstrip(), file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="deploy.sh")
    parser.add_argument("verb", choices=("up", "restart", "down", "status", "logs"))
    parser.add_argument("--data", type=Path, default=Path("data"), help="data folder (default: ./data)")
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
    return parser


# --- up --------------------------------------------------------------------------------------------------------------


def up(data: Path, args: argparse.Namespace) -> int:
    """Start the appliance if it does not run, wait until it is ready, say how to use it."""
    nginx = find_nginx()
    if nginx is None:
        raise ConfigurationError("nginx is not installed.", "Run ./deploy.sh up as root once, or install nginx.")
    config: Path = args.config.resolve() if args.config else data / "mastio.toml"
    write_settings(config, Wish(args.port, args.public_url, args.workers, args.database, args.redact))
    needs_stub = args.demo and ensure_stub_port(config)
    plan, problems = read_plan(data, config)
    refuse(problems)
    is_new = not (data / "bootstrap.json").exists()
    running = find_supervisor(data)
    if running is None:
        _verify_port(plan.settings.edge.bind, plan.settings.edge.port)
        _start(data, config, nginx)
    elif args.demo and needs_stub:
        _apply(data, running)
    wanted = describe_settings(plan)
    in_force = read_in_force(data) or wanted
    differing = find_changes(in_force, wanted)
    known = _await_ready(data, int(in_force["edge"]["port"]))
    print_welcome(data, known, _find_command(), Path("my-agent"), already=running is not None)
    if is_new:
        for variable, provider in read_first_providers(os.environ, lambda path: Path(path).read_text("ascii")):
            print(f"{variable} is set: it is the key of the provider {provider.name}, {provider.base_url}\n")
    done = _run_demo(data, plan.settings.server.stub_port) if args.demo else 0
    if differing:
        print("These settings differ from those in force; ./deploy.sh restart applies them:")
        print("\n".join(f"  {line}" for line in differing))
    else:
        print(f"Redaction is {describe_redaction(plan)}.")
    return done


def restart(data: Path, args: argparse.Namespace) -> int:
    """Apply the settings to the running appliance, worker by worker, and wait until they are in force."""
    running = find_supervisor(data)
    if running is None:
        raise ConfigurationError("Mastio is not running.", "Start it with ./deploy.sh up.")
    config = _config_of(running) or data / "mastio.toml"
    if args.config and args.config.resolve() != config:
        raise ConfigurationError(f"The appliance was started with {config}.", "Use down and up for another file.")
    before = read_in_force(data)
    if before is None:
        raise ConfigurationError("An earlier version is running.", "Use ./deploy.sh down, then ./deploy.sh up.")
    write_settings(config, Wish(args.port, args.public_url, args.workers, args.database, args.redact))
    plan, problems = read_plan(data, config)
    refuse(problems)
    if plan.settings.server.listen != before["server"]["listen"]:
        raise ConfigurationError("server.listen has changed.", "./deploy.sh down and up apply it.")
    if plan.settings.edge.port != before["edge"]["port"]:
        _verify_port(plan.settings.edge.bind, plan.settings.edge.port)
    _apply(data, running)
    _await_ready(data, plan.settings.edge.port)
    applied = find_changes(before, read_in_force(data) or {})
    print("Mastio has restarted, worker by worker.")
    print("\n".join(f"  {line}" for line in applied) if applied else "  No setting was different.")
    return 0


def _apply(data: Path, supervisor: int) -> None:
    """Raises `ConfigurationError` where the settings could not be applied. One at a time."""
    known = _read_run(data, "in-force.json")
    if known.get("supervisor") != supervisor:
        raise ConfigurationError("An earlier version is running.", "Use ./deploy.sh down, then ./deploy.sh up.")
    if known.get("code") != digest_code():
        raise ConfigurationError(
            "The code has changed since the appliance was started.", "Use ./deploy.sh down, then ./deploy.sh up."
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


def write_settings(file: Path, wish: Wish) -> bool:
    """Write the settings file if there is none, else change the values that `wish` names. True when it changed.

    Raises `ConfigurationError` for a file that cannot be changed safely, leaving it as it was.
    """
    if not file.exists():
        port = wish.port or 9443
        url = wish.public_url or f"https://localhost:{port}"
        text = TEMPLATE.format(
            public_url=url, trust_domain=_trust_domain(url), workers=wish.workers or 1, port=port,
            database=wish.database or "", unspoken="flag" if wish.redact is False else "redact",
        )  # fmt: skip
        tomllib.loads(text)
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "w", encoding="utf-8", opener=_open_private) as stream:
            stream.write(text)
        return True
    before = file.read_text("utf-8")
    text = set_values(before, _wanted(before, wish))
    if text != before:
        file.write_text(text, "utf-8")
    return text != before


def _wanted(text: str, wish: Wish) -> dict[tuple[str, str], str | int]:
    """The values by section and key. A public URL that only names the port follows it."""
    known = tomllib.loads(text)
    port = known.get("edge", {}).get("port", 9443)
    url = wish.public_url
    if (
        url is None
        and wish.port is not None
        and known.get("server", {}).get("public_url") == f"https://localhost:{port}"
    ):
        url = f"https://localhost:{wish.port}"
    values = {
        ("edge", "port"): wish.port,
        ("server", "public_url"): url,
        ("server", "workers"): wish.workers,
        ("database", "url"): wish.database,
        ("redaction", "unspoken"): None if wish.redact is None else "redact" if wish.redact else "flag",
    }
    return {place: value for place, value in values.items() if value is not None}


def _open_private(path: str, flags: int) -> int:
    """An opener for `open`: a new file gets mode 0600."""
    return os.open(path, flags, 0o600)


def _trust_domain(url: str) -> str:
    host = (urlsplit(url).hostname or "").lower()
    return host if re.fullmatch(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?", host) else "mastio"


def ensure_stub_port(file: Path) -> bool:
    """Give the stand-in provider a free port, once."""
    text = file.read_text("utf-8")
    if tomllib.loads(text).get("server", {}).get("stub_port"):
        return False
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    file.write_text(set_values(text, {("server", "stub_port"): port}), "utf-8")
    return True


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
    with open(data / "logs" / "mastio.log", "ab", opener=_open_private) as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
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
    command = [sys.executable, "-m", "mastio.demo", "--data", str(data), "--stub-port", str(stub_port)]
    return subprocess.run(command, check=False).returncode


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
