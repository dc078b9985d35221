"""nginx matches the route table, and the rendered configuration is one that nginx accepts."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from mastio.exchange.errors import BadRequest
from mastio.host.nginx import nginx_version
from mastio.http.edge import ERRORS, TEMPLATES, is_open, read_edge_headers, render, render_locations
from mastio.pki.authority import Authority
from mastio.process.plan import read_plan
from mastio_primitives.codes import CODES
from support.appliance import NGINX

PLAN, PROBLEMS = read_plan(Path("/nowhere"))


def locations(text: str) -> set[str]:
    """Paths of the rendered locations, parameters back in braces."""
    found = set(re.findall(r"^location = (\S+) \{", text, re.MULTILINE))
    for pattern in re.findall(r'^location ~ "(.+)" \{', text, re.MULTILINE):
        path = re.sub(r"\(\?<path_(\w+)>\[\^/\]\+\)", r"{\1}", pattern.removeprefix("^").removesuffix("$"))
        path = re.sub(r"\(\?<path_(\w+)>\.\+\)", r"{\1...}", path)
        found.add(path.replace("\\", ""))
    return found


def test_the_locations_are_the_routes() -> None:
    assert locations(render_locations(PLAN.routes)) == {route.path for route in PLAN.routes}
    assert PROBLEMS == []


def test_a_route_that_is_left_out_is_noticed() -> None:
    assert locations(render_locations(PLAN.routes[:-1])) != {route.path for route in PLAN.routes}


def test_the_edge_speaks_the_vocabulary() -> None:
    assert {code for code, _ in ERRORS.values()} <= CODES.keys()


def test_streams_are_not_buffered() -> None:
    blocks = re.findall(r"^location .*?^\}", render_locations(PLAN.routes), re.MULTILINE | re.DOTALL)
    unbuffered = locations("\n".join(block for block in blocks if "proxy_buffering off" in block))
    assert unbuffered == {route.path for route in PLAN.routes if route.streams}


@pytest.mark.parametrize("version", ["1.22.1", "1.30.6"])
def test_nginx_accepts_what_is_rendered(tmp_path: Path, version: str) -> None:
    """`nginx -t`; newer syntax than the installed nginx knows is only rendered."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    for name in ("run", "logs", "edge"):
        (tmp_path / name).mkdir()
    authority = Authority.ensure(tmp_path, "test.example", 1_800_000_000.0)
    authority.issue_server(["localhost"], 1_800_000_000.0)
    authority.publish()
    render(PLAN.settings, PLAN.routes, tmp_path, b"secret", version)
    text = (tmp_path / "edge" / "mastio.conf").read_text()
    assert ("http2 on;" in text) == (version == "1.30.6")
    assert (tmp_path / "edge" / "snippets" / "identity.conf").stat().st_mode & 0o777 == 0o600
    if tuple(map(int, nginx_version().split("."))) < tuple(map(int, version.split("."))):
        return
    command = [NGINX, "-t", "-p", f"{tmp_path}/edge/", "-c", "nginx.conf", "-e", f"{tmp_path}/logs/e.log"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def enrollment_limits(folder: Path, per_minute: int) -> tuple[str, int, int]:
    """Rate, burst and Retry-After, as nginx is told them."""
    edge = PLAN.settings.edge.model_copy(update={"enrollments_per_minute": per_minute})
    render(replace(PLAN.settings, edge=edge), PLAN.routes, folder, b"secret", "1.22.1")
    text = (folder / "edge" / "mastio.conf").read_text()
    rate = re.findall(r"zone=enrollments:10m rate=(\S+);", text)[0]
    burst = re.findall(r"burst=([0-9]+)", (folder / "edge" / "snippets" / "enrollment.conf").read_text())[0]
    wait = re.findall(r"map \$request_uri \$mastio_retry_after \{.*?\)\" ([0-9]+);", text, re.DOTALL)[0]
    return rate, int(burst), int(wait)


@pytest.mark.parametrize(
    ("per_minute", "said"),
    [(1, ("1r/m", 1, 63)), (10, ("10r/m", 9, 7)), (60, ("60r/m", 59, 1)), (60_000, ("60000r/m", 59_999, 1))],
)
def test_enrolments_of_one_address_are_counted(tmp_path: Path, per_minute: int, said: tuple[str, int, int]) -> None:
    """nginx takes no burst of 0."""
    assert enrollment_limits(tmp_path, per_minute) == said


def test_every_way_to_ask_for_an_identity_is_counted_and_has_its_time() -> None:
    blocks = re.findall(r"^location .*?^\}", render_locations(PLAN.routes), re.MULTILINE | re.DOTALL)
    asking = {route.path for route in PLAN.routes if route.kind == "enrollment.request"}
    assert locations("\n".join(block for block in blocks if "snippets/enrollment.conf" in block)) == asking
    text = (TEMPLATES / "mastio.conf").read_text()
    pattern = text.partition("map $request_uri $mastio_retry_after {")[2].partition('"~')[2].partition('"')[0]
    assert asking == {route.path for route in PLAN.routes if re.search(pattern, route.path)}


def show(uri: str) -> str:
    """What the access line has of a request line's target: the map of the template, read as nginx does."""
    block = (TEMPLATES / "mastio.conf").read_text().partition("map $request_uri $mastio_path {")[2].partition("\n}")[0]
    for pattern, said in re.findall(r'^    "~(.*?)" "?([^\n]*?)"?;$', block, re.MULTILINE) if uri else ():
        if match := re.search(pattern.replace("(?<", "(?P<").replace("(?P<!", "(?<!"), uri):
            return re.sub(r"\$(\w+?)(?=\W|$)", lambda name, m=match: m[name[1]], said)
    return "(not readable)"


@pytest.mark.parametrize(
    "uri",
    [
        "/v1beta/models/VALUE%3AgenerateContent", "//v1/egress/c/VALUE", "/%761/egress/c/VALUE", "/v1/%65gress/c/VALUE",
        "/v1/Egress/c/VALUE", "/v1//egress/c/VALUE", "/v1/./egress/c/VALUE", "/v1/x/../egress/c/VALUE", "/VALUE",
        "/V1/egress/c/VALUE", "/v1\\egress/c/VALUE", "/v1/egress/c/VALUE", "/v1/models/VALUE", "/v1/egress/c/d/VALUE?x",
        "/v1/models/VALUE:generateContent", "/v1/chat?VALUE", "https://host/v1/egress/c/VALUE", "/v1/models//VALUE",
    ],
)  # fmt: skip
def test_the_access_line_has_no_word_of_an_agent(uri: str) -> None:
    assert "VALUE" not in show(uri)


def test_the_access_line_shows_what_was_asked_for() -> None:
    for route in PLAN.routes:
        if "{" not in route.path or "admin" in route.path:
            path = route.path.replace("{", "").replace("}", "")
            assert show(path) == show(f"{path}?x") == path
    assert (show("/"), show("/v1/x/%0a"), show("/v1/egress/api/x")) == ("/", "/v1/x/%0a", "/v1/egress/api/...")
    assert show("/v1beta/models/g/m:generateContent?alt=sse") == "/v1beta/models/...:generateContent"
    assert (show("/v1/\u2028"), show("")) == ("(not readable)", "(not readable)")


def test_identity_comes_from_the_edge_alone() -> None:
    good = [(b"x-edge-secret", b"s"), (b"x-edge-certificate", b"pem"), (b"x-edge-address", b"10.0.0.1")]
    assert read_edge_headers(good, b"s") == (b"pem", "10.0.0.1")
    assert read_edge_headers([(b"x-edge-secret", b"s"), (b"x-edge-certificate", b"")], b"s") == (None, "")
    for wrong in (good[1:], [(b"x-edge-secret", b"x"), *good[1:]], [*good, good[0]], [*good, good[1]], []):
        with pytest.raises(BadRequest):
            read_edge_headers(wrong, b"s")


def test_every_identity_header_is_set_or_cleared() -> None:
    text = (TEMPLATES / "snippets" / "identity.conf").read_text().lower()
    for name in ("x-edge-secret", "x-edge-certificate", "x-edge-address", "x-forwarded-for", "forwarded", "x-real-ip",
                 "x-client-cert", "x-client-dn", "client-cert", "x-forwarded-client-cert"):  # fmt: skip
        assert f"proxy_set_header {name} " in text


def test_bodies_are_whole_where_nobody_is_known() -> None:
    blocks = re.findall(r"^location .*?^\}", render_locations(PLAN.routes), re.MULTILINE | re.DOTALL)
    whole = [block for block in blocks if "snippets/open.conf" in block]
    public = {route.path for route in PLAN.routes if route.recorded == "none"}
    assert locations("\n".join(whole)) == {route.path for route in PLAN.routes if is_open(route)} - public
    assert locations("\n".join(b for b in blocks if "snippets/public.conf" in b)) == public
    sizes = [int(size) for block in whole for size in re.findall(r"client_max_body_size ([0-9]+);", block)]
    assert len(sizes) == len(whole) and all(1 <= size <= 64 * 1024 for size in sizes), "none is kept on disk"
