"""The rules of docs/architecture.md about what code does: connections, secrets, broad excepts, what a worker loads.

As in `support.code_rules`, each is a function from the map of the code to what violates it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from support.code_map import CodeMap, Module, dotted

OUTSIDE = (
    "mastio.__main__", "mastio.bring_up.compose", "mastio.bring_up.demo", "mastio.bring_up.native",
    "mastio.bring_up.up_settings", "mastio.cli", "mastio.host.nginx", "mastio.plugin.administer",
    "mastio.plugin.collection_command", "mastio.process.forked", "mastio.process.forking", "mastio.process.prepare",
    "mastio.process.reloading", "mastio.process.supervisor", "mastio.store.sql.migrations",
    "mastio_audit.verification.store", "mastio_client", "mastio_llm.stubs", "mastio_primitives.command_line",
    "mastio_primitives.defaults", "mastio_primitives.serving", "mastio_primitives.transparency.arguments",
)  # fmt: skip
"""What runs beside the appliance, not in a worker: the command line, the agent's side, who starts and keeps workers.
And the `commands` of each plugin."""

OF_CONTROL = (
    "alembic", "fastapi", "mastio.control", "mastio.http.openapi", "mastio.pki.authority", "mastio.pki.rotate",
    "mastio.store.control", "mastio.store.sql.migrate", "starlette",
)  # fmt: skip
"""What control alone loads: the framework, administration, and whatever holds or makes keys of the authority."""

TABLES = {"mastio.control", "mastio.http.control_routes"}
"""Of `mastio.control`, what everybody may load: the rows of the route table."""

WAYS_OUT = {
    "mastio/outbound/upstream.py": "the one way out: HTTP",
    "mastio/outbound/connector.py": "makes its connections, and those of raw streams",
    "mastio/outbound/reachability.py": "tries, for an admin, a connection that upstream_connector makes",
    "mastio/outbound/upload.py": "sends its bodies",
    "mastio/outbound/resolver.py": "asks the name servers",
    "mastio/plugin/services.py": "names a socket's type only",
    "mastio/process/worker.py": "is given its listening socket",
    "client/mastio_primitives/http_protocol.py": "the server's side of HTTP",
    "mastio/outbound/sigv4.py": "signs; nothing is sent",
    "mastio/store/sql/postgresql.py": "the appliance's own database",
    "mastio/store/secrets/key_sources.py": "runs the admin's command for a key",
    "plugins/mastio_audit/log/postgres.py": "the appliance's own database",
    "plugins/mastio_audit/sinks/postgres.py": "the appliance's own database",
    "plugins/mastio_cache/shared.py": "the appliance's own database",
    "plugins/mastio_audit/sinks/__init__.py": "names a socket's kind only",
    "plugins/mastio_audit/sinks/network.py": "talks through a socket that `services.upstreams` connected",
}
"""Which files of a worker have what a connection could be made with, and why."""

CONNECTING = {"mastio/outbound/connector.py", "mastio/outbound/resolver.py"}
"""And which ones make one."""

NETWORKS = {
    "aiodns", "aiohttp", "aioquic", "asyncpg", "awscrt", "botocore", "boto3", "ftplib", "grpc", "h2", "http.client",
    "http.server", "httpx", "httpx2", "imaplib", "multiprocessing", "paramiko", "poplib", "psycopg", "pycares",
    "redis", "requests", "smtplib", "socket", "socketserver", "sqlalchemy.ext.asyncio", "subprocess", "telnetlib",
    "urllib.request", "urllib3", "uvicorn", "websockets", "xmlrpc",
}  # fmt: skip
CONNECTS = {
    "sock_connect", "sock_sendto", "sendto", "connect_ex", "create_connection", "create_datagram_endpoint",
    "create_unix_connection", "open_connection", "open_unix_connection", "getaddrinfo", "gethostbyname",
    "gethostbyname_ex", "urlopen", "create_subprocess_exec", "create_subprocess_shell", "start_tls",
}  # fmt: skip

BROAD = {"mastio/pipeline/order.py": 2, "mastio/process/forked.py": 1}
"""How many broad excepts: the pipeline's outer boundary and plugin call, and the plugins' preloading, after which the
fork server must go on."""


def is_outside(name: str) -> bool:
    if name.split(".")[1:2] == ["commands"]:
        return True
    return any(name == one or name.startswith((f"{one}.", f"{one}_")) for one in OUTSIDE)


def is_of_control(name: str) -> bool:
    return name not in TABLES and any(name == one or name.startswith(f"{one}.") for one in OF_CONTROL)


def find_unlisted_ways_out(code: CodeMap, listed: Mapping[str, str] = WAYS_OUT) -> list[str]:
    """Modules of a worker that can make a connection are listed with a reason; only those that check addresses do."""
    found = []
    for module in code.product:
        if is_outside(module.name):
            continue
        names = _networks_of(module)
        if bool(names) != (module.path in listed):
            found.append(f"{module.path} imports {', '.join(sorted(names)) or 'nothing that is listed'}")
        if module.path not in CONNECTING and module.path != "mastio/process/worker.py":
            found += [f"{module.path} calls {name}" for name in sorted(_connects_of(module))]
    return found


def _networks_of(module: Module) -> set[str]:
    names = {*module.names(), *(one for one, _ in module.imports)}
    return {one for one in NETWORKS for name in names if name == one or name.startswith(f"{one}.")}


def _connects_of(module: Module) -> set[str]:
    called = {ast.unparse(node.func) for node in module.nodes if isinstance(node, ast.Call)}
    return {name for name in called if name.rpartition(".")[2] in CONNECTS or name == "socket.socket"}


def find_outside_in_workers(code: CodeMap) -> list[str]:
    """A worker loads nothing of what runs beside it or of control: all imports from its program and the plugins on."""
    seen: set[str] = set()
    ahead = ["mastio.process.data_plane", *(module.name for module in code.plugins if "." not in module.name)]
    while ahead:
        name = ahead.pop()
        if name not in seen and name in code.modules:
            seen.add(name)
            for named in _named(code.modules[name]):
                parts = named.split(".")
                ahead += [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
        elif name in OF_CONTROL:
            seen.add(name)
    return [f"a worker loads {name}" for name in sorted(seen) if is_outside(name) or is_of_control(name)]


def _named(module: Module) -> Iterator[str]:
    """What a module imports, and texts in it that could be modules of ours."""
    yield from module.names()
    yield from (one for one, _ in module.imports)
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("mastio"):
            yield node.value


def find_secrets_made_when_loaded(code: CodeMap) -> list[str]:
    """All processes are forked from one that has loaded the code, so they would share such a secret."""
    found = []
    for module in code.product:
        later = {inner for node in module.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                 for statement in node.body for inner in ast.walk(statement)}  # fmt: skip
        made = {dotted(node.func) for node in module.nodes if isinstance(node, ast.Call) and node not in later}
        found += [f"{module.name} calls {name}" for name in sorted(made)
                  if name.startswith(("secrets.", "os.urandom", "uuid."))]  # fmt: skip
    return found


def find_ed25519_loaded_elsewhere(code: CodeMap) -> list[str]:
    """The library accepts weak keys; `mastio_primitives.ed25519` alone loads keys, and refuses them."""
    loading = {module.name for module in code.product
               if any(name.endswith("Ed25519PublicKey.from_public_bytes") for name in module.calls)}  # fmt: skip
    return [f"{name} loads Ed25519 keys itself" for name in sorted(loading ^ {"mastio_primitives.ed25519"})]


def find_broad_excepts(code: CodeMap) -> list[str]:
    """Broad excepts are only where they are declared."""
    found = []
    for module in code.product:
        handlers = [node for node in module.nodes if isinstance(node, ast.ExceptHandler)]
        broad = [x for x in handlers if x.type is None or ast.unparse(x.type) in ("Exception", "BaseException")]
        if len(broad) != BROAD.get(module.path, 0):
            found.append(f"{module.path} has {len(broad)} broad excepts")
    return found


def find_missing_docstrings(code: CodeMap) -> list[str]:
    return [f"{module.path} does not say what it is" for module in code.product if not module.doc]
