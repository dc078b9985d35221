import pytest

from mastio.errors import BadRequest, ConfigurationError
from mastio.exchange import OPEN, Route
from mastio.routes import RouteTable

TABLE = RouteTable(
    [
        Route("/a", ("GET",), OPEN, "a", ""),
        Route("/a", ("POST",), OPEN, "b", ""),
        Route("/a/{id}", ("GET",), OPEN, "c", ""),
        Route("/a/{id}/go", ("POST",), OPEN, "d", ""),
        Route("/w/{rest...}", ("GET",), OPEN, "e", ""),
    ]
)


@pytest.mark.parametrize(
    ("method", "path", "kind", "params"),
    [
        ("GET", "/a", "a", {}),
        ("POST", "/a", "b", {}),
        ("GET", "/a/x.y-1", "c", {"id": "x.y-1"}),
        ("POST", "/a/1/go", "d", {"id": "1"}),
        ("GET", "/w/x/y", "e", {"rest": "x/y"}),
    ],
)
def test_found(method: str, path: str, kind: str, params: dict[str, str]) -> None:
    route, found = TABLE.find(method, path)
    assert (route.kind, dict(found)) == (kind, params)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/", "not_found"),
        ("GET", "/A", "not_found"),
        ("GET", "/a/", "not_found"),
        ("GET", "/%61", "not_found"),
        ("DELETE", "/a", "method_not_allowed"),
        ("get", "/a", "method_not_allowed"),
        ("GET", "/a%2fb", "invalid_path"),
        ("GET", "/a/%2E%2e/b/c", "invalid_path"),
        ("GET", "/x//a", "invalid_path"),
        ("GET", "/x/../a/b/c", "invalid_path"),
        ("GET", "/a\\b", "invalid_path"),
        ("GET", "/w%00", "invalid_path"),
    ],
)
def test_refused(method: str, path: str, code: str) -> None:
    with pytest.raises(BadRequest) as refused:
        TABLE.find(method, path)
    assert refused.value.code == code


def test_two_claims_stop_the_start() -> None:
    row = Route("/a", ("GET",), OPEN, "a", "")
    with pytest.raises(ConfigurationError):
        RouteTable([row, row])
