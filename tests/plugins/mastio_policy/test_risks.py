"""What a tool may do, by its name and its arguments."""

from __future__ import annotations

from typing import Any

import pytest

from mastio.cedar.schema import DATA_CLASSES, RISKS
from mastio_policy.classes import classes_of
from mastio_policy.risks import WORDS, classify, split_name


def test_the_classes_are_those_of_the_schema() -> None:
    assert tuple(WORDS) == RISKS


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("deleteUser", ("delete", "user")),
        ("db_drop_table", ("db", "drop", "table")),
        ("send-email", ("send", "email")),
        ("HTTPGet", ("http", "get")),
        ("github.repos/listAll", ("github", "repos", "list", "all")),
        ("getURLContent2", ("get", "url", "content", "2")),
        ("SQL", ("sql",)),
        ("", ()),
    ],
)
def test_names_are_split_where_their_spelling_is(name: str, words: tuple[str, ...]) -> None:
    assert split_name(name) == words


@pytest.mark.parametrize(
    ("name", "risks"),
    [
        ("deleteUser", "delete admin"),
        ("db_drop_table", "delete"),
        ("send-email", "communication"),
        ("read_file", "read"),
        ("list_users", "read"),
        ("get_invoice", "read"),
        ("searchEmails", "read"),
        ("create_user", "write admin"),
        ("run_shell", "execute"),
        ("executeSQL", "execute"),
        ("http_request", "network"),
        ("fetch_url", "read network"),
        ("get_secret", "read credential"),
        ("rotateApiKey", "credential"),
        ("transfer_funds", "payment"),
        ("charge_card", "payment"),
        ("grant_role", "admin"),
        ("post_message", "write communication"),
        ("upload_file", "write"),
        ("frobnicate", "execute"),
        ("", "execute"),
        ("undeletable", "execute"),
        ("readdeleteall", "execute"),
    ],
)
def test_by_name(name: str, risks: str) -> None:
    assert classify(name) == set(risks.split())


@pytest.mark.parametrize(
    ("name", "arguments", "more"),
    [
        ("tool", {"command": "rm -rf /srv"}, "delete execute"),
        ("tool", {"command": "ls; sudo rm x"}, "delete execute admin"),
        ("tool", {"argv": ["curl", "https://x.example"]}, "execute network"),
        ("tool", {"command": "echo rmdirectory"}, "execute"),
        ("tool", {"cmd": "mkfs.ext4 /dev/sda"}, "delete execute"),
        ("look", {"sql": "SELECT 1"}, "read"),
        ("look", {"query": "DROP TABLE users"}, "delete"),
        ("look", {"query": "select 1; delete from t"}, "read delete"),
        ("look", {"query": "how do I drop a table?"}, ""),
        ("get", {"method": "DELETE", "url": "https://x.example/1"}, "read delete network"),
        ("get", {"path": "/home/a/.ssh/id_rsa"}, "read credential"),
        ("get", {"path": "/home/a/server.pem"}, "read credential"),
        ("get", {"path": "monkey.keys.txt"}, "read"),
        ("note", {"amount": 12, "currency": "EUR"}, "payment"),
        ("note", {"to": "a@example.com"}, "communication"),
        ("note", {"to": "the left"}, ""),
        ("note", {"deep": [{"password": "x"}]}, "credential"),
        ("note", "plain text with https://x.example", "network"),
        ("tool", {"command": "a" * 30_000}, "execute"),
    ],
)
def test_by_arguments(name: str, arguments: Any, more: str) -> None:
    assert classify(name, arguments) == (set(more.split()) or {"execute"})


@pytest.mark.parametrize(
    ("label", "classes"),
    [
        ("pii.EMAIL_ADDRESS", "pii"),
        ("pii.IBAN_CODE", "pii financial"),
        ("pii.CREDIT_CARD", "pii financial"),
        ("pii.US_SSN", "pii national_id"),
        ("pii.IP_ADDRESS", "pii network"),
        ("pii.MEDICAL_LICENSE", "pii health"),
        ("secret.AWS_ACCESS_KEY", "credential"),
        ("injection.override", ""),
        ("exfiltration.url", ""),
        ("financial.IBAN_CODE", "financial"),
        ("national_id.US_SSN", "national_id"),
        ("credential.OPENAI_KEY", "credential"),
        ("pii", "pii"),
        ("own.PATIENT_NUMBER", "pii health"),
        ("uninspected", ""),
        ("observed.redact", ""),
    ],
)
def test_data_classes(label: str, classes: str) -> None:
    assert classes_of(label) == set(classes.split())
    assert classes_of(label) <= set(DATA_CLASSES)
