"""A witness for tests, made from C2SP tlog-witness, tlog-cosignature and signed-note alone. Shares no code with us."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

Reply = tuple[int, str, bytes]


class Refused(Exception):
    def __init__(self, status: int, body: bytes = b"", kind: str = "text/plain") -> None:
        self.reply: Reply = (status, kind, body)


def key_id(name: str, kind: bytes, key: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + kind + key).digest()[:4]


def consistent(first: int, second: int, root1: bytes, root2: bytes, proof: list[bytes]) -> bool:
    """RFC 9162 §2.1.4.2, step by step."""

    def node(left: bytes, right: bytes) -> bytes:
        return hashlib.sha256(b"\x01" + left + right).digest()

    if first == second:
        return not proof and root1 == root2
    if not proof:
        return False
    path = [root1, *proof] if first & (first - 1) == 0 else list(proof)
    fn, sn = first - 1, second - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = path[0]
    for c in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = node(c, fr), node(c, sr)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node(sr, c)
        fn, sn = fn >> 1, sn >> 1
    return fr == root1 and sr == root2 and sn == 0


class WitnessServer:
    """Serves `add-checkpoint`. `requests` are the bodies that came, `replies` what was answered to each."""

    def __init__(self, name: str = "witness.example/w1") -> None:
        self.name = name
        self._key = Ed25519PrivateKey.generate()
        public = self._key.public_key().public_bytes_raw()
        self._id = key_id(name, b"\x04", public)
        self.vkey = f"{name}+{self._id.hex()}+{base64.b64encode(bytes([4]) + public).decode()}"
        self.trusted: dict[str, list[str]] = {}
        """The vkeys of the logs that are witnessed, by origin."""
        self.latest: dict[str, tuple[int, bytes]] = {}
        self.requests: list[bytes] = []
        self.replies: list[Reply] = []
        self.broken: Reply | None = None
        self.clock = time.time
        self._lock = threading.Lock()
        server = self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{server.server_port}/prefix"
        self._thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> WitnessServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def trust(self, vkey: str) -> None:
        self.trusted.setdefault(vkey.partition("+")[0], []).append(vkey)

    def settings(self, name: str) -> str:
        return (
            f'[[audit.anchors]]\nname = "{name}"\nkind = "witness"\nurl = "{self.url}"\nvkey = "{self.vkey}"\n'
            f'allow_addresses = ["127.0.0.1"]\n'
        )

    def add_checkpoint(self, body: bytes) -> Reply:
        with self._lock:
            self.requests.append(body)
            try:
                reply = self.broken or (200, "text/plain", self._decide(body))
            except Refused as refused:
                reply = refused.reply
            self.replies.append(reply)
            return reply

    def _decide(self, body: bytes) -> bytes:
        head, _, checkpoint = body.partition(b"\n\n")
        lines = head.decode("ascii").split("\n")
        text, _, signatures = checkpoint.partition(b"\n\n")
        text += b"\n"
        origin, size_line, root_line = text.decode().split("\n")[:3]
        if not lines[0].startswith("old ") or not signatures.endswith(b"\n") or len(lines) > 64:
            raise Refused(400)
        old, size, root = int(lines[0][4:]), int(size_line), base64.b64decode(root_line, validate=True)
        if lines[0] != f"old {old}" or old > size:
            raise Refused(400)
        if origin not in self.trusted:
            raise Refused(404)
        if not any(self._signed(text, signatures, vkey) for vkey in self.trusted[origin]):
            raise Refused(403)
        last_size, last_root = self.latest.get(origin, (0, b""))
        if old != last_size:
            raise Refused(409, b"%d\n" % last_size, "text/x.tlog.size")
        proof = [base64.b64decode(line, validate=True) for line in lines[1:]]
        if old == size and root != last_root:
            raise Refused(409)
        if (old == 0 and proof) or (old and not consistent(old, size, last_root, root, proof)):
            raise Refused(422)
        self.latest[origin] = size, root
        return self._cosign(text)

    def _signed(self, text: bytes, signatures: bytes, vkey: str) -> bool:
        name, _, rest = vkey.partition("+")
        key = base64.b64decode(rest.partition("+")[2])
        for line in signatures.decode().splitlines():
            _, signer, encoded = line.split(" ")
            raw = base64.b64decode(encoded)
            if signer == name and raw[:4] == key_id(name, b"\x01", key[1:]):
                try:
                    Ed25519PublicKey.from_public_bytes(key[1:]).verify(raw[4:], text)
                except InvalidSignature:
                    raise Refused(403) from None
                return True
        return False

    def _cosign(self, text: bytes) -> bytes:
        at = int(self.clock())
        signature = self._key.sign(f"cosignature/v1\ntime {at}\n".encode() + text)
        return self.line(self._id + at.to_bytes(8, "big") + signature)

    def line(self, raw: bytes) -> bytes:
        return f"— {self.name} {base64.b64encode(raw).decode()}\n".encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        witness = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                known = self.path == "/prefix/add-checkpoint"
                status, kind, content = witness.add_checkpoint(body) if known else (404, "text/plain", b"no such path")
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler
