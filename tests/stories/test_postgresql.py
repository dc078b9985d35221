"""The main job on PostgreSQL, with two workers on one log, and a server that goes away and comes back."""

import subprocess
import sys

from support.appliance import open_appliance
from support.postgresql import create_database

BODY = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "hello"}]}


def verify(*place: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mastio", "audit", "verify", *place]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_main_job_on_postgresql(postgresql: str) -> None:
    url = create_database(postgresql)
    with open_appliance(database=url, workers=2) as (appliance, stub):
        assert stub is not None
        identities = [appliance.enroll(f"agent-{number}") for number in range(4)]
        receipts = []
        for identity in identities:
            with appliance.agent(identity) as proven, appliance.by_certificate(identity) as shown:
                for client in (proven, shown):
                    reply = client.post("/v1/chat/completions", json=BODY)
                    assert reply.status_code == 200, reply.text
                    receipts.append(int(reply.headers["mastio-receipt"]))
        assert len(set(receipts)) == len(receipts)
        assert not (appliance.data / "db" / "audit.sqlite").exists()
        by_url, by_folder = verify("--database", url), verify("--data", str(appliance.data))
        assert (by_url.returncode, by_folder.returncode) == (0, 0), by_url.stderr + by_folder.stderr
        # The folder also has the checkpoint that the appliance signed last, and the log must begin with it.
        assert "checkpoints   1" in by_folder.stdout
        assert by_url.stdout == by_folder.stdout.replace("checkpoints   1", "checkpoints   0")
        assert "first bad     none" in by_url.stdout
