"""EST with nothing but curl and openssl: enrol, be somebody, renew, as docs/est.md shows it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.appliance import Appliance, read_files

EST = "/.well-known/est"


class Shell:
    """A folder and the tools of any machine. The first agent's name is `machine`."""

    def __init__(self, folder: Path, appliance: Appliance) -> None:
        self.folder = folder
        self.appliance = appliance
        self.ca = str(appliance.data / "ca" / "ca.crt")

    def run(self, *command: str, data: bytes = b"") -> bytes:
        done = subprocess.run(command, input=data, cwd=self.folder, capture_output=True, check=False)
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    def curl(self, path: str, *arguments: str) -> bytes:
        return self.run("curl", "-sSf", "--cacert", self.ca, *arguments, self.appliance.base_url + path)

    def request(self, key: str, *subject: str) -> None:
        """A P-256 key and `<key>.b64`, the request for it."""
        self.run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{key}.key")
        self.run("openssl", "req", "-new", "-key", f"{key}.key", "-outform", "DER", "-out", f"{key}.der", *subject)
        self.run("openssl", "base64", "-in", f"{key}.der", "-out", f"{key}.b64")

    def post(self, verb: str, body: str, *arguments: str) -> bytes:
        kind = "Content-Type: application/pkcs10"
        return self.curl(f"{EST}/{verb}", "-H", kind, "--data-binary", f"@{body}", *arguments)

    def keep(self, reply: bytes, file: str) -> None:
        """The certificates of a certs-only reply, as PEM."""
        der = self.run("openssl", "base64", "-d", data=reply)
        pem = self.run("openssl", "pkcs7", "-inform", "DER", "-print_certs", data=der)
        (self.folder / file).write_bytes(pem)


@pytest.mark.smoke
@pytest.mark.parametrize("named", ["common", "uri", "user"])
def test_enrolment_and_renewal_with_curl_and_openssl(appliance: Appliance, tmp_path: Path, named: str) -> None:
    name = f"est-{named}"
    shell, token = Shell(tmp_path, appliance), appliance.enrollment_token(name)
    subject = {
        "common": ["-subj", f"/CN={name}"],
        "uri": ["-subj", "/O=Example/CN=Machine 7", "-addext", f"subjectAltName=URI:spiffe://test.example/agent/{name}"],
        "user": ["-subj", "/"],
    }[named]  # fmt: skip
    shell.keep(shell.curl(f"{EST}/cacerts"), "cas.pem")
    shell.request("first", *subject)
    way = ["--anyauth"] if named == "common" else []  # asks what is wanted first
    shell.keep(shell.post("simpleenroll", "first.b64", "-u", f"{name}:{token}", *way), "first.crt")
    verified = shell.run("openssl", "verify", "-CAfile", shell.ca, "-untrusted", "cas.pem", "first.crt")
    assert verified == b"first.crt: OK\n"
    by_first = ["--cert", "first.crt", "--key", "first.key"]
    shown = json.loads(shell.curl("/v1/agents/self", *by_first))
    assert (shown["name"], shown["status"]) == (name, "active")
    shell.request("second", "-subj", f"/CN={name}")
    shell.keep(shell.post("simplereenroll", "second.b64", *by_first), "second.crt")
    for leaf in ("first", "second"):  # the one before stays good for a while
        arguments = ["--cert", f"{leaf}.crt", "--key", f"{leaf}.key"]
        assert json.loads(shell.curl("/v1/agents/self", *arguments))["name"] == name
    assert (tmp_path / "first.crt").read_bytes() != (tmp_path / "second.crt").read_bytes()


def test_the_token_is_in_no_file(appliance: Appliance, tmp_path: Path) -> None:
    shell, token = Shell(tmp_path, appliance), appliance.enrollment_token("est-quiet")
    shell.request("first", "-subj", "/CN=est-quiet")
    shell.post("simpleenroll", "first.b64", "-u", f"est-quiet:{token}")
    secret = token.removeprefix("mastio_enroll_").encode()
    files = read_files(appliance.data)
    assert len(files) > 20 and not [file.name for file, content in files.items() if secret in content]
