"""Events of the Open Cybersecurity Schema Framework, version 1.3.0, as one line of JSON. Pure.

| entry | class |
|---|---|
| of kind `oauth.token` | Authentication (3002) |
| the appliance's own events | Application Lifecycle (6002) |
| everything else | API Activity (6003) |

Nothing is made up for the schema's sake: the log does not know the caller's address, so `src_endpoint` is the agent's
name, or `unknown`. `metadata.sequence` and `metadata.uid` are index and leaf hash of the entry, with which its proof
is found; `metadata.correlation_uid` joins intent and outcome. What has no place in the schema is in `unmapped`.
"""

from __future__ import annotations

from typing import Any

from mastio_audit.sinks.view import UNREADABLE, View, encode

VERSION = "1.3.0"
API_ACTIVITY, AUTHENTICATION, LIFECYCLE = 6003, 3002, 6002
OTHER = 99

_OWN = ("appliance.start", "audit.resumed", "audit.key", "audit.fork", UNREADABLE)
_METHODS = {"GET": (2, "Read"), "HEAD": (2, "Read"), "PUT": (3, "Update"), "PATCH": (3, "Update"),
            "DELETE": (4, "Delete")}  # fmt: skip
_STATUS = {"ok": (1, "Success"), "unknown": (0, "Unknown"), "refused": (2, "Failure"), "failed": (2, "Failure")}
_SEVERITY = {1: "Informational", 2: "Low", 3: "Medium", 5: "Critical"}


def body(view: View, host: str, version: str) -> bytes:
    """The event as one line of JSON."""
    event_class = _class(view)
    activity, activity_name = _activity(view, event_class)
    status, status_name = _status(view)
    event = {
        "category_uid": event_class // 1000,
        "class_uid": event_class,
        "activity_id": activity,
        "activity_name": activity_name,
        "type_uid": event_class * 100 + activity,
        "severity_id": view.weight.ocsf,
        "severity": _SEVERITY[view.weight.ocsf],
        "time": view.milliseconds,
        "status_id": status,
        "status": status_name,
        "status_code": view.text("outcome", "code"),
        "message": f"{view.kind} {view.document['phase']}",
        "metadata": _metadata(view, version),
        **_of_class(view, event_class, host, version),
        "unmapped": _unmapped(view),
    }
    return encode({name: value for name, value in event.items() if value is not None})


def _class(view: View) -> int:
    if view.kind in _OWN:
        return LIFECYCLE
    return AUTHENTICATION if view.kind == "oauth.token" else API_ACTIVITY


def _activity(view: View, event_class: int) -> tuple[int, str]:
    if view.kind == "appliance.start":
        return 3, "Start"
    if event_class == AUTHENTICATION:
        return 1, "Logon"
    if event_class == API_ACTIVITY:
        method = view.text("request", "method") or ""
        return _METHODS.get(method, (OTHER, view.kind))  # what a POST does, its name alone does not say
    return OTHER, view.kind


def _status(view: View) -> tuple[int, str]:
    said = view.text("outcome", "status")
    if said is None:
        return OTHER, view.document["phase"]
    return _STATUS.get(said, (OTHER, said))


def _metadata(view: View, version: str) -> dict[str, Any]:
    found = {
        "version": VERSION,
        "product": _product(version),
        "log_name": "audit",
        "log_provider": "mastio",
        "uid": view.leaf,
        "sequence": view.index,
        "correlation_uid": view.document["id"] or None,
        "event_code": view.kind,
        "original_time": view.time,
    }
    return {name: value for name, value in found.items() if value is not None}


def _product(version: str) -> dict[str, str]:
    return {"name": "Mastio", "vendor_name": "Mastio", "version": version}


def _of_class(view: View, event_class: int, host: str, version: str) -> dict[str, Any]:
    """The members that the class adds to the base event: all required ones, and the known optional ones."""
    if event_class == LIFECYCLE:
        return {"app": _product(version)}
    who = {
        "src_endpoint": {"name": view.document["agent"] or "unknown"},
        "dst_endpoint": {"hostname": host, "svc_name": "mastio"},
        "http_request": _http_request(view),
        "http_response": _http_response(view),
    }
    if event_class == AUTHENTICATION:
        return {**who, "user": _user(view), "service": {"name": "mastio"}, "auth_protocol_id": OTHER,
                "auth_protocol": "OAuth 2.0", "is_remote": True}  # fmt: skip
    return {**who, "actor": {"user": _user(view)}, "api": _api(view), "resources": _resources(view)}


def _user(view: View) -> dict[str, Any]:
    agent = view.document["agent"]
    if agent:
        return {"name": agent, "type_id": OTHER, "type": "Agent"}
    if view.text("credential", "type") == "admin":
        return {"name": view.text("credential", "name") or "unknown", "type_id": 2, "type": "Admin"}
    return {"name": "unknown", "type_id": 0, "type": "Unknown"}


def _api(view: View) -> dict[str, Any]:
    api: dict[str, Any] = {"operation": view.kind, "service": {"name": "mastio"}}
    if view.document["id"]:
        api["request"] = {"uid": view.document["id"]}
    code = view.number("response", "status")
    if code is not None:
        error = view.text("outcome", "code")
        api["response"] = {"code": code, **({"error": error} if error else {})}
    return api


def _resources(view: View) -> list[dict[str, str]] | None:
    target = view.document["target"]
    return [{"name": target}] if target else None


def _http_request(view: View) -> dict[str, Any] | None:
    method, path = view.text("request", "method"), view.text("request", "path")
    if method is None or path is None:
        return None
    return {"http_method": method, "url": {"path": path}}


def _http_response(view: View) -> dict[str, int] | None:
    code = view.number("response", "status")
    return None if code is None else {"code": code}


def _unmapped(view: View) -> dict[str, Any]:
    """Index and leaf hash once more under the log's own names, and what the schema has no member for."""
    document = view.document
    found = {"index": view.index, "leaf": view.leaf, "prev": document["prev"], "phase": document["phase"]}
    whole = {name: document[name] for name in ("credential", "decision", "request", "response", "outcome", "usage")}
    return {name: value for name, value in (found | whole).items() if value is not None}
