"""What a fresh appliance does with personal data, through the edge, and how `deploy.sh` chooses it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from mastio.bring_up.native import describe_redaction
from mastio.bring_up.up_settings import UpOptions, write_settings
from mastio.exchange.errors import ConfigurationError
from mastio.process.plan import read_plan
from support.appliance import Appliance, open_appliance
from support.dialect_samples import Talk
from support.scripted_provider import Provider, run_provider

CARD = "4012888888881881"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
MAIL = "zoe.example@mail.example.org"
TALK = Talk("openai")


@pytest.mark.parametrize(("redact", "value"), [(None, "redact"), (True, "redact"), (False, "flag")])
def test_new_settings_say_what_was_chosen(tmp_path: Path, redact: bool | None, value: str) -> None:
    file = tmp_path / "mastio.toml"
    write_settings(file, UpOptions(9443, None, None, None, redact))
    assert tomllib.loads(file.read_text())["redaction"] == {"unspoken": value}
    plan, problems = read_plan(tmp_path)
    assert problems == []
    assert describe_redaction(plan).startswith("off" if redact is False else "on: cards")


@pytest.mark.parametrize(
    "before", ["", "\n[redaction]\n", '\n[redaction]\nunspoken = "off"\n', "\n[redaction.patterns]\nX = ['a']\n"]
)
def test_settings_that_are_there_change_only_on_request(tmp_path: Path, before: str) -> None:
    file = tmp_path / "mastio.toml"
    file.write_text(f"[edge]\nport = 9443\n{before}")
    assert not write_settings(file, UpOptions(None, None, None, None))
    assert write_settings(file, UpOptions(None, None, None, None, True))
    assert tomllib.loads(file.read_text())["redaction"]["unspoken"] == "redact"
    assert not write_settings(file, UpOptions(None, None, None, None, True)), "the second time changes nothing"
    assert write_settings(file, UpOptions(None, None, None, None, False))
    assert tomllib.loads(file.read_text())["redaction"]["unspoken"] == "flag"


@pytest.mark.parametrize("odd", ["redaction = {restore = 1}\n", "redaction.deadline = 1\n"])
def test_settings_that_cannot_be_changed_safely_stay_as_they_were(tmp_path: Path, odd: str) -> None:
    file = tmp_path / "mastio.toml"
    file.write_text(odd)
    with pytest.raises(ConfigurationError, match="changed safely"):
        write_settings(file, UpOptions(None, None, None, None, True))
    assert file.read_text() == odd


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[Appliance, Provider, httpx.Client]]:
    with open_appliance(stub=None, more='[redaction]\nunspoken = "redact"\n') as (appliance, _):
        identity = appliance.enroll("caller")
        with run_provider(appliance, "openai", "p") as provider, appliance.by_certificate(identity) as client:
            yield appliance, provider, client


def ask(client: httpx.Client, text: str) -> httpx.Response:
    return client.post(TALK.path("p/m", False), json=TALK.body("p/m", text, False))


def test_values_with_a_check_do_not_leave_and_come_back(world: tuple[Appliance, Provider, httpx.Client]) -> None:
    appliance, provider, client = world
    reply = ask(client, f"card {CARD}, token {TOKEN}, mail {MAIL}")
    assert reply.status_code == 200, reply.text
    asked = TALK.asked(provider.last.document)
    assert CARD not in asked and TOKEN not in asked and MAIL in asked
    intent, _ = appliance.entries_of(reply.headers["x-request-id"])
    labels = {finding["label"] for finding in intent["request"]["findings"]}
    assert labels == {"financial.CREDIT_CARD", "credential.GITHUB_TOKEN", "pii.EMAIL_ADDRESS"}


def test_a_labelled_column_is_inspected_and_its_twin_is_served(
    world: tuple[Appliance, Provider, httpx.Client],
) -> None:
    appliance, _, client = world
    policy = {"name": "no-passwords", "types": {"PASSWORD": {"action": "block"}, "IMEI": {"action": "block"}}}
    with appliance.admin() as admin:
        assert admin.post("/v1/admin/redaction", json=policy).status_code == 201
    appliance.settle()
    for text in (
        "user,password\nanna,hunter2\nbob,Tr0ub4dor\n",
        "| device | IMEI |\n|---|---|\n| phone | 352099001761481 |\n",
        "<table><tr><th>IMEI</th></tr><tr><td>352099001761481</td></tr></table>",
        "Meine IMEI lautet 352099001761481.",
        'id,note,imei\n1,"left\nat home",352099001761481\n',
        'Look: {"device": {"type": "imei", "number": "352099001761481"}}',
        '{"imei": {"make": "x", "value": 352099001761481}}',
    ):
        assert ask(client, text).status_code == 422, text
    for text in (
        "user,role\nanna,hunter2\n",
        "| device | order |\n|---|---|\n| phone | 352099001761481 |\n",
        'id,note,order\n1,"left\nat home",352099001761481\n',
        'Look: {"device": {"type": "order", "number": "352099001761481"}}',
    ):
        assert ask(client, text).status_code == 200, text


@pytest.mark.parametrize(("question", "leaves"), [("What is your SSN?", False), ("What is your order number?", True)])
def test_an_answer_is_read_with_its_question(
    world: tuple[Appliance, Provider, httpx.Client], question: str, leaves: bool
) -> None:
    _, provider, client = world
    messages = [{"role": "assistant", "content": question}, {"role": "user", "content": "sure, 536220174"}]
    reply = client.post(TALK.path("p/m", False), json={"model": "p/m", "messages": messages})
    assert reply.status_code == 200, reply.text
    assert ("536220174" in str(provider.last.document)) is leaves
