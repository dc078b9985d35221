"""The risk classes of a tool, nine in all, derived from its name and its arguments. Pure.

A name is split where its spelling is: `deleteUser`, `db_drop_table`, `send-email`, `HTTPGet`, `github.repos/list`. A
word decides by itself or with the words beside it. Arguments decide where a name says little: `run` with a shell
command that removes files deletes. A tool of which nothing is known is `execute`: it may do anything.

The classes are of `mastio.cedar.schema.RISKS`. A tool may have several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORDS: Mapping[str, frozenset[str]] = {
    "read": words(
        """read get list fetch find search query lookup show view describe select count head tail cat grep glob
        ls stat browse inspect check retrieve load open peek scan summarize status history diff compare
        watch tree"""
    ),
    "write": words(
        """write create update insert add set put patch post edit modify append save store upload rename move
        copy replace upsert import make mkdir touch commit push merge apply sync assign tag label close
        reopen archive restore comment book schedule draft"""
    ),
    "delete": words(
        """delete remove drop truncate purge erase destroy wipe clear unlink rm rmdir del discard prune expunge
        uninstall shred revert reset"""
    ),
    "execute": words(
        """execute exec run shell bash sh zsh cmd command terminal powershell eval script python node code
        interpreter subprocess spawn launch invoke deploy install build compile sql computer process job
        workflow lambda kernel notebook trigger start restart stop kill"""
    ),
    "network": words(
        """http https url uri web website request curl wget download crawl scrape fetch browser navigate
        webhook socket dns ping proxy ftp ssh tunnel connect internet click page"""
    ),
    "credential": words(
        """credential credentials secret secrets password passwords passwd token tokens key keys apikey vault
        login oauth auth session cookie certificate keychain keyring kms sign signin otp mfa totp decrypt"""
    ),
    "payment": words(
        """pay payment payments charge refund invoice transfer payout purchase buy order checkout billing
        subscribe subscription wire withdraw deposit trade stripe paypal wallet transaction transactions
        bank sell donate tip"""
    ),
    "communication": words(
        """send email emails mail sms message messages notify notification slack teams discord telegram
        whatsapp tweet publish broadcast reply call phone fax forward share invite announce dm"""
    ),
    "admin": words(
        """admin administrator grant revoke permission permissions role roles sudo root policy policies acl iam
        user users member members group groups account accounts config configure settings setting firewall
        enable disable ban impersonate escalate owner ownership chmod chown approve privilege privileges"""
    ),
}
"""By a word of the name."""

_HARMLESS_BESIDE = frozenset({"read", "get", "list", "search", "find", "count", "describe", "show", "view", "lookup"})
_NOUNS: Mapping[str, frozenset[str]] = {
    "payment": words("invoice order transaction transactions bank billing subscription wallet payment payments"),
    "communication": words("email emails mail sms message messages notification slack teams call phone"),
    "admin": words("user users member members group groups account accounts settings setting config"),
}
"""Words that are things rather than deeds: beside a word that only reads they are what is read."""

_SHELL = re.compile(
    r"(?:^|[;&|`$(\s/])(rm|rmdir|shred|mkfs\S*|dd|truncate|del|erase|curl|wget|nc|ncat|ssh|scp|sftp|ftp|telnet|sudo|su|"
    r"chmod|chown|passwd|useradd|usermod|userdel|visudo|iptables|bash|sh|zsh|python3?|perl|ruby|node|powershell|pwsh|"
    r"eval|exec)(?=$|[\s;&|)])"
)
_BY_COMMAND: Mapping[str, frozenset[str]] = {
    "delete": words("rm rmdir shred dd truncate del erase"),
    "network": words("curl wget nc ncat ssh scp sftp ftp telnet"),
    "admin": words("sudo su chmod chown passwd useradd usermod userdel visudo iptables"),
    "execute": words("bash sh zsh python python3 perl ruby node powershell pwsh eval exec"),
}
_SQL = re.compile(
    r"^\s*(?:with\b.*?\)\s*)?(select|insert|update|delete|drop|truncate|alter|grant|revoke|create|merge)\b", re.I | re.S
)
_BY_STATEMENT: Mapping[str, str] = {
    "select": "read", "insert": "write", "update": "write", "merge": "write", "create": "write", "alter": "write",
    "delete": "delete", "drop": "delete", "truncate": "delete", "grant": "admin", "revoke": "admin",
}  # fmt: skip
_URL = re.compile(r"\b(?:https?|ftps?|wss?|ssh)://", re.I)
_SECRET_FILE = re.compile(
    r"(?:^|[/\\\s'\"])(?:\.ssh|\.aws|\.gnupg|\.netrc|\.env|\.kube|id_rsa|id_ed25519|shadow|\.pgpass|\.npmrc|\.docker)"
    r"(?:$|[/\\.\s'\"])|\.(?:pem|key|p12|pfx|kdbx)(?:$|[\s'\"])",
    re.I,
)
_METHODS: Mapping[str, str] = {
    "get": "read", "head": "read", "post": "write", "put": "write", "patch": "write", "delete": "delete",
}  # fmt: skip
_COMMANDS = frozenset({"command", "cmd", "script", "code", "shell", "args", "argv", "bash", "program"})
_STATEMENTS = frozenset({"sql", "query", "statement", "stmt"})
_AMOUNTS = frozenset({"amount", "price", "iban", "card_number", "currency"})
_SECRETS = frozenset({"password", "passwd", "secret", "token", "api_key", "apikey", "private_key", "credentials"})
_RECIPIENTS = frozenset({"recipient", "recipients", "to", "cc", "bcc", "phone_number", "channel"})

MAX_TEXT = 20_000
"""Characters of one argument that are looked at; a longer one counts as one that may do anything."""

_SPLIT = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def split_name(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case."""
    return tuple(word.lower() for word in _SPLIT.findall(name))


def classify(name: str, arguments: Any = None) -> frozenset[str]:
    """The risk classes of a tool, or, with its arguments, of this call of it."""
    found = set(_classify_words(split_name(name)))
    if arguments is not None:
        for member, text in _texts(arguments, ""):
            found |= _classify_argument(member, text)
    return frozenset(found) or frozenset({"execute"})


@lru_cache(maxsize=8192)
def _classify_words(words: tuple[str, ...]) -> frozenset[str]:
    said = set(words)
    found = {risk for risk, named in WORDS.items() if said & named}
    only_reads = bool(said & _HARMLESS_BESIDE) and not found & {"write", "delete", "execute"}
    if only_reads:
        for risk, nouns in _NOUNS.items():
            if said & WORDS[risk] <= nouns:
                found.discard(risk)
    return frozenset(found)


def _texts(value: Any, member: str) -> Iterator[tuple[str, str]]:
    """Every text in the arguments with the name of its member, and members that say something by being there."""
    if isinstance(value, dict):
        for name, below in value.items():
            lowered = str(name).lower()
            if not isinstance(below, str | dict | list):
                yield lowered, ""
            yield from _texts(below, lowered)
    elif isinstance(value, list):
        if value and all(isinstance(item, str) for item in value) and member in _COMMANDS:
            yield member, " ".join(value)
        for item in value:
            yield from _texts(item, member)
    elif isinstance(value, str):
        yield member, value


def _classify_argument(member: str, text: str) -> set[str]:
    if len(text) > MAX_TEXT:
        return {"execute"} if member in _COMMANDS | _STATEMENTS else set()
    found = set()
    if member in _COMMANDS:
        found.add("execute")
        commands = {"rm" if command.startswith("mkfs") else command for command in _SHELL.findall(text)}
        found |= {risk for risk, named in _BY_COMMAND.items() if commands & named}
    statement = _SQL.match(text) if member in _STATEMENTS else None
    if statement is not None:
        found.add(_BY_STATEMENT[statement[1].lower()])
        found |= {_BY_STATEMENT[more] for more in _next_statements(text)}
    if member == "method" and text.lower() in _METHODS:
        found |= {_METHODS[text.lower()], "network"}
    if _URL.search(text):
        found.add("network")
    if _SECRET_FILE.search(text) or member in _SECRETS:
        found.add("credential")
    if member in _AMOUNTS:
        found.add("payment")
    if member in _RECIPIENTS and ("@" in text or text.startswith(("+", "#"))):
        found.add("communication")
    return found


def _next_statements(text: str) -> set[str]:
    """The first words of the statements after semicolons."""
    return {match[1].lower() for part in text.split(";")[1:] if (match := _SQL.match(part)) is not None}
