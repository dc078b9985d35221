"""A control plane with a real database, authority and keys, and a tiny front door before it."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, cast

import httpx
import orjson
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.x509.oid import NameOID

from mastio.control import application
from mastio.exchange.errors import MastioError
from mastio.exchange.values import STRANGER, Principal
from mastio.pki.authority import Authority
from mastio.process.plan import secret_folders
from mastio.store.control import ControlStore
from mastio.store.hot import HotDirectory
from mastio.store.secrets.file_keys import FileKeys
from mastio.store.sql.engine import Database
from support.collections import COLLECTIONS

TRUST_DOMAIN = "world.test"
PUBLIC_URL = "https://mastio.test:9443"
NOW = 1_800_000_000.0

ADMIN = Principal("first", frozenset({"admin", "operator", "auditor"}))


class Clock:
    """The time of a world, which stands still until a test moves it."""

    def __init__(self) -> None:
        self.time = NOW

    def __call__(self) -> float:
        return self.time


class Current:
    """Stands for one object after the other: what is asked of it is asked of the current one. An attribute that is read
    before there is one stands for that attribute of each."""

    def __init__(self, find: Callable[[], Any] | None = None) -> None:
        self.target: Any = None
        self._find = find or (lambda: self.target)

    def __getattr__(self, name: str) -> Any:
        target = self._find()
        return getattr(target, name) if target is not None else Current(lambda: getattr(self._find(), name, None))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._find()(*arguments, **named)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._find())


class Shell:
    """The control plane's application around stores that are exchanged: building it takes a quarter of a second."""

    _idle: ClassVar[dict[float | None, list[Shell]]] = {}

    def __init__(self, four_eyes_seconds: float | None) -> None:
        self._four_eyes_seconds = four_eyes_seconds
        self._store, self._directory, self._authority, self._now = Current(), Current(), Current(), Current()
        self.app = application.build(
            store=cast(ControlStore, self._store),
            collections=COLLECTIONS,
            directory=cast(HotDirectory, self._directory),
            authority=cast(Authority, self._authority),
            public_url=PUBLIC_URL,
            trust_domain=TRUST_DOMAIN,
            leaf_seconds=86_400.0,
            now=self._now,
            max_pending=20,
            four_eyes_seconds=four_eyes_seconds,
        )

    @classmethod
    def take(
        cls,
        four_eyes_seconds: float | None,
        store: ControlStore,
        directory: HotDirectory,
        authority: Authority,
        now: Callable[[], float],
    ) -> Shell:
        """An idle one or a new one, around these."""
        idle = cls._idle.setdefault(four_eyes_seconds, [])
        shell = idle.pop() if idle else cls(four_eyes_seconds)
        shell._store.target, shell._directory.target = store, directory
        shell._authority.target, shell._now.target = authority, now
        return shell

    def give_back(self) -> None:
        for current in (self._store, self._directory, self._authority, self._now):
            current.target = None
        self._idle[self._four_eyes_seconds].append(self)


class FrontDoor:
    """Stands where the pipeline stands: hands the principal over, and turns an error into its status and code."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.principal = STRANGER
        self.facts: dict[str, Any] = {}
        """Of the last call, for its outcome."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope["state"] = {"principal": self.principal, "request_id": "r", "facts": self.facts}
        try:
            await self._app(scope, receive, send)
        except MastioError as error:
            body = orjson.dumps({"code": error.code, "message": error.message})
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": error.status, "headers": headers})
            await send({"type": "http.response.body", "body": body})


class World:
    """`as_` says who calls next."""

    def __init__(
        self, data: Path, store: ControlStore, directory: HotDirectory, authority: Authority,
        four_eyes_seconds: float | None = None,
    ) -> None:  # fmt: skip
        self.data = data
        self.clock = Clock()
        self.store = store
        self.directory = directory
        self.authority = authority
        self.shell = Shell.take(four_eyes_seconds, store, directory, authority, self.clock)
        self.app = self.shell.app
        self.door = FrontDoor(self.app)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app=self.door), base_url=PUBLIC_URL)

    async def call(
        self, method: str, path: str, document: Any = None, principal: Principal = ADMIN, **more: Any
    ) -> httpx.Response:
        self.door.principal, self.door.facts = principal, {}
        if document is not None:
            more["json"] = document
        return await self.http.request(method, path, **more)

    async def token(self, name: str = "*", **more: Any) -> str:
        reply = await self.call("POST", "/v1/admin/enrollment-tokens", {"name": name, **more})
        assert reply.status_code == 201, reply.text
        return str(reply.json()["token"])

    async def enrol(self, name: str, key: Any = None, **more: Any) -> httpx.Response:
        document = {"csr": make_csr(key or make_key()), "name": name, **more}
        return await self.call("POST", "/v1/enrollments", document, STRANGER)


@asynccontextmanager
async def open_world(data: Path, url: str, four_eyes_seconds: float | None = None) -> AsyncIterator[World]:
    """The database at `url` is migrated already."""
    keys = FileKeys(data)
    keys.ensure()
    database = Database(url)
    folders = secret_folders(data)
    directory = HotDirectory(database, keys, collections=COLLECTIONS, secret_folders=folders)
    store = ControlStore(database, keys, refresh=directory.refresh, collections=COLLECTIONS, secret_folders=folders)
    await directory.start()
    world = World(data, store, directory, Authority.ensure(data, TRUST_DOMAIN, NOW), four_eyes_seconds)
    try:
        yield world
    finally:
        await world.http.aclose()
        world.shell.give_back()
        await directory.close()
        await database.close()


def agent(name: str, **credential: str) -> Principal:
    """An agent as the pipeline would hand it over."""
    return Principal(name, frozenset({"agent"}), credential=credential)


def make_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def make_csr(key: Any, *extensions: x509.ExtensionType, algorithm: Any = "default") -> str:
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "agent")])
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    if algorithm == "default":
        algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(serialization.Encoding.PEM).decode()


def sign_jws(key: Any, message: bytes) -> str:
    """As JWS signs, base64url."""
    if isinstance(key, ed25519.Ed25519PrivateKey):
        raw = key.sign(message)
    else:
        size = (key.curve.key_size + 7) // 8
        algorithm = hashes.SHA384() if size == 48 else hashes.SHA256()
        r, s = decode_dss_signature(key.sign(message, ec.ECDSA(algorithm)))
        raw = r.to_bytes(size, "big") + s.to_bytes(size, "big")
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def proof(key: Any, enrollment: str) -> dict[str, str]:
    return {"X-Enrollment-Proof": sign_jws(key, f"mastio-enrollment:v1|{enrollment}".encode())}
