"""The architecture rules of docs/architecture.md, one test for each rule: import directions, purity, ways out."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = sorted((ROOT / "mastio").rglob("*.py"))
PLUGINS = sorted((ROOT / "plugins").rglob("*.py"))

PLUGIN_MAY = {
    "mastio", "mastio.aside", "mastio.automata", "mastio.budgets", "mastio.cedar.paths", "mastio.cedar.schema",
    "mastio.cedar.source", "mastio.cedar.zones",
    "mastio.decoding", "mastio.destination", "mastio.inspection", "mastio.matching", "mastio.reading.document",
    "mastio.reading.frames", "mastio.reading.heads", "mastio.reading.naming", "mastio.reading.stream",
    "mastio.errors", "mastio.exchange", "mastio.hooks", "mastio.host_memory", "mastio.jose",
    "mastio.oauth_client", "mastio.presented",
    "mastio.upstream_tls",
    "mastio.provider_secrets",
    "mastio.problem", "mastio.request_headers", "mastio.last_good",
    "mastio.rotation", "mastio.services", "mastio.strictjson", "mastio.target", "mastio.store.base",
    "mastio.pki.certificates", "mastio.pki.files", "mastio.transparency", "mastio.transparency.merkle",
    "mastio.transparency.notes",
}  # fmt: skip
"""What a plugin may import of the core: the contract, the Protocols and the pure rooms. Never another plugin."""

PURE = [
    "mastio/first_providers.py", "mastio/inspection.py", "mastio/matching.py", "mastio/reading/document.py",
    "mastio/reading/blobs.py", "mastio/reading/fragments.py", "mastio/reading/frames.py",
    "mastio/reading/heads.py", "mastio/reading/piecemeal.py",
    "mastio/reading/stream.py", "plugins/mastio_llm/texts/openai.py", "plugins/mastio_llm/texts/anthropic.py",
    "plugins/mastio_llm/texts/gemini.py",
    "mastio/approval.py", "mastio/budgets.py", "mastio/decoding.py", "mastio/destination.py", "mastio/exchange.py",
    "mastio/ed25519.py", "mastio/errors.py", "mastio/identity.py",
    "mastio/jose.py", "mastio/strictjson.py", "mastio/target.py", "mastio/problem.py", "mastio/presented.py",
    "mastio/request_headers.py",
    "mastio/restriction.py", "mastio/rotation.py", "mastio/routes.py", "mastio/pki/certificates.py",
    "mastio/pki/est.py",
    "mastio/cedar/paths.py", "mastio/cedar/schema.py", "mastio/cedar/source.py", "mastio/cedar/usage.py",
    "plugins/mastio_policy/classes.py", "plugins/mastio_policy/deciding.py", "plugins/mastio_policy/facts.py",
    "plugins/mastio_policy/risks.py", "plugins/mastio_llm/telling.py", "plugins/mastio_llm/facts.py",
    "plugins/mastio_dpop/proof.py", "plugins/mastio_token/access.py", "plugins/mastio_policy/rules.py",
    "mastio/connection_secrets.py", "mastio/provider_secrets.py", "plugins/mastio_llm/dialects/bedrock.py",
    "plugins/mastio_llm/breaker.py", "plugins/mastio_llm/passing.py", "plugins/mastio_llm/ways.py",
    "plugins/mastio_llm/counting.py", "plugins/mastio_llm/prices.py",
    "plugins/mastio_detectors/engine.py", "plugins/mastio_detectors/scoring.py", "plugins/mastio_detectors/lexicon.py",
    "plugins/mastio_detectors/disguise.py", "plugins/mastio_detectors/judging.py", "plugins/mastio_detectors/cues.py",
    "plugins/mastio_detectors/rulings.py", "plugins/mastio_detectors/definitions.py",
    "plugins/mastio_limits/ledger.py", "plugins/mastio_limits/matching.py", "plugins/mastio_limits/refusal.py",
    "plugins/mastio_llm/sse.py", "plugins/mastio_llm/links.py", "plugins/mastio_llm/translate/translation.py",
    "plugins/mastio_llm/translate/conversation.py", "plugins/mastio_llm/translate/checks.py",
    "plugins/mastio_llm/translate/hints.py", "plugins/mastio_llm/translate/from_chat.py",
    "plugins/mastio_llm/translate/from_messages.py", "plugins/mastio_llm/translate/to_chat.py",
    "plugins/mastio_llm/translate/to_messages.py", "plugins/mastio_llm/translate/from_responses.py",
    "plugins/mastio_llm/translate/from_gemini.py", "plugins/mastio_llm/translate/to_gemini.py",
    "plugins/mastio_llm/translate/schemas.py", "plugins/mastio_llm/translate/counting.py",
    "plugins/mastio_llm/translate/embedding.py", "plugins/mastio_llm/jsonarray.py",
    "plugins/mastio_llm/dialects/operation.py", "plugins/mastio_llm/dialects/openai.py",
    "plugins/mastio_llm/dialects/anthropic.py", "plugins/mastio_llm/dialects/gemini.py",
    "plugins/mastio_cache/directives.py", "plugins/mastio_cache/key.py", "plugins/mastio_cache/kept.py",
    "plugins/mastio_cache/memory.py", "plugins/mastio_cache/nearness.py",
    "plugins/mastio_audit/chain.py", "plugins/mastio_audit/trust.py", "mastio/transparency/merkle.py",
    "mastio/transparency/notes.py", "plugins/mastio_audit/sinks/view.py", "plugins/mastio_audit/sinks/rfc5424.py",
    "plugins/mastio_audit/sinks/cef.py", "plugins/mastio_audit/sinks/ocsf.py",
    "plugins/mastio_audit/anchors/cosignatures.py", "plugins/mastio_audit/anchors/der.py",
    "plugins/mastio_audit/anchors/timestamps.py",
    "plugins/mastio_redaction/rule.py", "plugins/mastio_redaction/checks.py", "plugins/mastio_redaction/phones.py",
    "plugins/mastio_redaction/engine.py", "plugins/mastio_redaction/custom.py", "plugins/mastio_redaction/stream.py",
    "plugins/mastio_redaction/fpe.py", "plugins/mastio_redaction/strategies.py",
    "plugins/mastio_redaction/surrogates.py",
    "plugins/mastio_redaction/vault.py", "plugins/mastio_redaction/expressions.py",
    "plugins/mastio_redaction/tables.py",
    "plugins/mastio_redaction/alphabets.py", "plugins/mastio_redaction/fragments.py",
    "plugins/mastio_redaction/scan.py", "plugins/mastio_redaction/catalogue/vocabulary.py",
    "plugins/mastio_redaction/catalogue/people.py", "plugins/mastio_redaction/catalogue/finance.py",
    "plugins/mastio_egress/echo.py", "plugins/mastio_egress/headers.py", "plugins/mastio_egress/paths.py",
    "plugins/mastio_egress/redirects.py", "plugins/mastio_egress/texts.py",
    "plugins/mastio_redaction/catalogue/national.py", "plugins/mastio_redaction/catalogue/health.py",
    "plugins/mastio_redaction/catalogue/network.py", "plugins/mastio_redaction/catalogue/secrets.py",
]  # fmt: skip
EFFECTS = {
    "asyncio",
    "socket",
    "subprocess",
    "time",
    "os",
    "pathlib",
    "fastapi",
    "starlette",
    "sqlalchemy",
    "pyreqwest",
    "httpx",
}

OUTSIDE = (
    "mastio.__main__", "mastio.cli", "mastio.client", "mastio.compose", "mastio.demo", "mastio.forked",
    "mastio.forking", "mastio.native",
    "mastio.nginx", "mastio.prepare", "mastio.reloading", "mastio.serving", "mastio.store.migrations", "mastio.stubs",
    "mastio.supervisor", "mastio_audit.verify",
)  # fmt: skip
"""What runs beside the appliance, not in a worker: the command line, the agent's side, who starts and keeps workers."""

WAYS_OUT = {
    "mastio/upstream.py": "the one way out: HTTP",
    "mastio/upstream_connector.py": "makes its connections, and those of raw streams",
    "mastio/reachability.py": "tries, for an admin, a connection that upstream_connector makes",
    "mastio/upstream_upload.py": "sends its bodies",
    "mastio/resolver.py": "asks the name servers",
    "mastio/services.py": "names a socket's type only",
    "mastio/worker.py": "is given its listening socket",
    "mastio/protocol.py": "the server's side of HTTP",
    "mastio/sigv4.py": "signs; nothing is sent",
    "mastio/store/postgresql.py": "the appliance's own database",
    "mastio/store/key_sources.py": "runs the admin's command for a key",
    "plugins/mastio_audit/postgres.py": "the appliance's own database",
    "plugins/mastio_audit/sinks/postgres.py": "the appliance's own database",
    "plugins/mastio_cache/shared.py": "the appliance's own database",
    "plugins/mastio_audit/sinks/__init__.py": "names a socket's kind only",
    "plugins/mastio_audit/sinks/network.py": "talks through a socket that `services.upstreams` connected",
}
"""Which files of a worker have what a connection could be made with, and why."""

CONNECTING = {"mastio/upstream_connector.py", "mastio/resolver.py"}
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

BROAD = {"mastio/pipeline.py": 2}
"""How many broad excepts: the pipeline's outer boundary and plugin call."""

ROOTS = {
    "mastio.app",
    "mastio.forked",
    "mastio.worker",
    "mastio.prepare",
    "mastio.native",
    "mastio.compose",
    "mastio.demo",
}
"""Composition roots: nothing but another root, or the command line, imports them."""


def module_of(file: Path) -> str:
    relative = file.relative_to(ROOT / "plugins" if "plugins" in file.parts else ROOT)
    parts = relative.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


@functools.cache
def imports_of(file: Path) -> tuple[str, ...]:
    names: list[str] = []
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    return tuple(names)


def test_a_plugin_imports_the_contract_and_nothing_else_of_ours() -> None:
    for file in PLUGINS:
        own = module_of(file).split(".")[0]
        for name in imports_of(file):
            if name.split(".")[0] == "mastio":
                assert name in PLUGIN_MAY, f"{file} imports {name}"
            if name.startswith("mastio_"):
                assert name.split(".")[0] == own, f"{file} imports another plugin: {name}"


def test_the_core_never_imports_a_plugin() -> None:
    """The verbs of the command line are outside the core and may show what a plugin offers."""
    for file in CORE:
        plugins = [name for name in imports_of(file) if name.startswith("mastio_")]
        assert not plugins or file.parent.name == "cli", f"{file} imports {plugins}"


def test_nothing_imports_a_composition_root() -> None:
    for file in CORE:
        if module_of(file) not in ROOTS and file.parent.name != "cli":
            assert not ROOTS & set(imports_of(file)), file


def test_errors_and_exchange_stand_alone() -> None:
    allowed = {
        "mastio/errors.py": set(),
        "mastio/inspection.py": set(),
        "mastio/exchange.py": {"mastio.errors", "mastio.inspection"},
    }
    for path, names in allowed.items():
        assert {name for name in imports_of(ROOT / path) if name.startswith("mastio")} <= names


def test_the_deciding_code_is_pure() -> None:
    for path in PURE:
        assert not EFFECTS & {name.split(".")[0] for name in imports_of(ROOT / path)}, path


def test_nothing_secret_is_made_when_a_module_is_loaded() -> None:
    """All processes are forked from one that has loaded the code, so they would share such a secret."""
    for file in [*CORE, *PLUGINS]:
        loaded = [node for node in tree_of(file).body if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        for node in loaded:
            methods = {x for part in ast.walk(node) if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
                       for x in ast.walk(part)}  # fmt: skip
            calls = [x for x in ast.walk(node) if isinstance(x, ast.Call) and x not in methods]
            made = {ast.unparse(call.func) for call in calls}
            assert not [name for name in made if name.startswith(("secrets.", "os.urandom", "uuid."))], file


def test_ed25519_keys_are_loaded_in_one_place() -> None:
    """The library accepts weak keys; `mastio.ed25519` refuses them."""
    for file in [*CORE, *PLUGINS]:
        called = {ast.unparse(node.func) for node in ast.walk(tree_of(file)) if isinstance(node, ast.Call)}
        loads = any(name.endswith("Ed25519PublicKey.from_public_bytes") for name in called)
        assert loads == (file == ROOT / "mastio" / "ed25519.py"), file


def is_outside(module: str) -> bool:
    return any(module == one or module.startswith((f"{one}.", f"{one}_")) for one in OUTSIDE)


IN_WORKERS = [file for file in [*CORE, *PLUGINS] if not is_outside(module_of(file))]


def networks_of(file: Path) -> set[str]:
    """The modules that a file imports and with which a connection can be made."""
    names = {name for name in imports_of(file) for one in NETWORKS if name == one or name.startswith(f"{one}.")}
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.ImportFrom) and node.module in ("urllib", "http", "sqlalchemy.ext"):
            names |= {f"{node.module}.{alias.name}" for alias in node.names} & NETWORKS
    return names


def connects_of(file: Path) -> set[str]:
    """The calls in a file that make a connection."""
    called = {ast.unparse(node.func) for node in ast.walk(tree_of(file)) if isinstance(node, ast.Call)}
    return {name for name in called if name.rpartition(".")[2] in CONNECTS or name == "socket.socket"}


def test_a_worker_has_one_way_out() -> None:
    """Modules that can make a connection are listed with a reason; only the modules that check addresses make one."""
    for file in IN_WORKERS:
        path, names = file.relative_to(ROOT).as_posix(), networks_of(file)
        assert bool(names) == (path in WAYS_OUT), f"{path} imports {names or 'nothing that is listed'}"
        if path not in CONNECTING and path != "mastio/worker.py":
            assert not connects_of(file), f"{path} calls {connects_of(file)}"


def test_every_way_out_exists() -> None:
    known = {file.relative_to(ROOT).as_posix() for file in IN_WORKERS}
    assert WAYS_OUT.keys() <= known and WAYS_OUT.keys() >= CONNECTING


def test_a_worker_loads_nothing_of_what_runs_beside_it() -> None:
    """All that is imported from `mastio.worker` and the plugins on, names in texts that are modules included."""
    files = {module_of(file): file for file in [*CORE, *PLUGINS]}
    seen: set[str] = set()
    ahead = ["mastio.worker", *(module for module in files if module.startswith("mastio_") and "." not in module)]
    while ahead:
        module = ahead.pop()
        if module in seen or module not in files:
            continue
        seen.add(module)
        for name in _named(files[module]):
            parts = name.split(".")
            ahead += [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    assert len(seen) > 200
    assert not [module for module in seen if is_outside(module)]


def _named(file: Path) -> Iterator[str]:
    yield from imports_of(file)
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("mastio"):
            yield node.value


def test_no_import_inside_a_function() -> None:
    for file in [*CORE, *PLUGINS]:
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                inner = [x for statement in node.body for x in ast.walk(statement)]
                assert not [x for x in inner if isinstance(x, ast.Import | ast.ImportFrom)], f"{file}: {node.name}"


def test_broad_except_only_where_it_is_declared() -> None:
    for file in [*CORE, *PLUGINS]:
        handlers = [node for node in ast.walk(tree_of(file)) if isinstance(node, ast.ExceptHandler)]
        broad = [x for x in handlers if x.type is None or ast.unparse(x.type) in ("Exception", "BaseException")]
        assert len(broad) == BROAD.get(file.relative_to(ROOT).as_posix(), 0), file


def test_every_module_says_what_it_is() -> None:
    assert [file for file in [*CORE, *PLUGINS] if not ast.get_docstring(tree_of(file))] == []
