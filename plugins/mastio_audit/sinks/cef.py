"""ArcSight's Common Event Format, version 0. Pure.

`CEF:0|Mastio|Mastio|version|signature|name|severity|key=value key=value …` on one line. In the header backslash and
pipe are escaped, in values backslash and equals sign. What could break a line is written out before that, so no value
needs CEF's own `\\n`.
"""

from __future__ import annotations

from mastio_audit.sinks.view import View, visible

HEADER = str.maketrans({"\\": "\\\\", "|": "\\|"})
VALUE = str.maketrans({"\\": "\\\\", "=": "\\="})

_NAMES = {
    "intent": "Action allowed, about to be carried out",
    "outcome": "Action ended",
    "event": "Event",
}


def body(view: View, host: str, version: str) -> bytes:
    """The whole CEF line, without a newline."""
    document = view.document
    head = ("CEF:0", "Mastio", "Mastio", version, f"{view.kind}:{document['phase']}", _name(view), str(view.weight.cef))
    extension = " ".join(f"{key}={_value(value, longest)}" for key, value, longest in _fields(view, host) if value)
    return "|".join((head[0], *(visible(part[:512]).translate(HEADER) for part in head[1:]), extension)).encode()


def _name(view: View) -> str:
    if not view.readable:
        return "Audit log was altered"
    if view.text("outcome", "status") == "refused":
        return "Request refused"
    return _NAMES.get(view.document["phase"], "Event")


def _fields(view: View, host: str) -> tuple[tuple[str, str | None, int], ...]:
    """Key, value and the longest value that the dictionary of keys allows."""
    document = view.document
    return (
        ("rt", str(view.milliseconds) if view.time else None, 20),
        ("externalId", str(view.index), 40),
        ("dvchost", host, 100),
        ("cat", document["phase"], 1023),
        ("suser", document["agent"] or _admin(view), 1023),
        ("act", view.text("decision", "effect"), 63),
        ("outcome", view.text("outcome", "status"), 63),
        ("reason", view.text("outcome", "code"), 1023),
        ("requestMethod", view.text("request", "method"), 1023),
        ("request", view.text("request", "path"), 1023),
        ("in", _digits(view.number("request", "bytes")), 20),
        ("out", _digits(view.number("response", "bytes")), 20),
        *_custom("cs1", "leafHash", view.leaf),
        *_custom("cs2", "exchange", document["id"]),
        *_custom("cs3", "target", document["target"]),
        *_custom("cs4", "rule", view.text("decision", "rule")),
        *_custom("cs5", "credential", view.text("credential", "type")),
        *_custom("cn1", "index", str(view.index)),
        *_custom("cn2", "httpStatus", _digits(view.number("response", "status"))),
    )


def _custom(key: str, label: str, value: str | None) -> tuple[tuple[str, str | None, int], ...]:
    return ((key, value, 4000), (f"{key}Label", label, 1023)) if value else ()


def _admin(view: View) -> str | None:
    return view.text("credential", "name") if view.text("credential", "type") == "admin" else None


def _digits(number: int | None) -> str | None:
    return None if number is None else str(number)


def _value(text: str, longest: int) -> str:
    return visible(text[:longest]).translate(VALUE)
