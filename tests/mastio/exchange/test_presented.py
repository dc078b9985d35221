"""Which secret was presented: each refusal beside the good case it was made from."""

import pytest

from mastio.exchange.errors import AuthenticationError
from mastio.exchange.presented_credentials import (
    Presented,
    end_of_claim,
    find_name,
    hash_claim,
    hash_digest,
    is_password,
    limit_claim,
    parse_password,
    parse_presented,
)

Headers = list[tuple[bytes, bytes]]

TOKEN = b"header.claims.signature"
KEY = b"mastio_sk_abc"
ADMIN = b"mastio_admin_abc"
AUTHORIZATION = b"authorization"
PROVIDERS = [b"x-api-key", b"x-goog-api-key", b"api-key"]


def bearer(value: bytes) -> tuple[bytes, bytes]:
    return (AUTHORIZATION, b"Bearer " + value)


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize(("value", "kind"), [(TOKEN, "token"), (KEY, "api_key"), (ADMIN, "admin")])
def test_a_providers_header_means_bearer(name: bytes, value: bytes, kind: str) -> None:
    presented = parse_presented([(b"host", b"x"), (name, value)])
    assert presented == Presented("Bearer", value, frozenset({name}))
    assert presented is not None and presented.kind == kind


@pytest.mark.parametrize("word", [b"Bearer", b"bearer", b"BEARER"])
def test_the_schemes_name_has_no_case(word: bytes) -> None:
    assert parse_presented([(AUTHORIZATION, word + b"  " + TOKEN + b" ")]) == Presented(
        "Bearer", TOKEN, frozenset({AUTHORIZATION})
    )


def test_dpop() -> None:
    presented = parse_presented([(AUTHORIZATION, b"DPoP " + TOKEN)])
    assert presented == Presented("DPoP", TOKEN, frozenset({AUTHORIZATION}))


def test_one_secret_in_several_headers_is_one() -> None:
    headers = [bearer(KEY), *((name, KEY) for name in PROVIDERS)]
    assert parse_presented(headers) == Presented("Bearer", KEY, frozenset({AUTHORIZATION, *PROVIDERS}))


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"host", b"mastio"), (b"cookie", b"x")],
        [bearer(b"certificate")],
        *[[(name, b"certificate")] for name in PROVIDERS],
        [bearer(b"certificate"), (b"x-api-key", b"certificate")],
        [(AUTHORIZATION, b"Basic dTpw")],
        [(AUTHORIZATION, b"basic dTpw")],
        [(AUTHORIZATION, b"Basic")],
    ],
)
def test_no_credential_of_its_own(headers: Headers) -> None:
    assert parse_presented(headers) is None


@pytest.mark.parametrize(
    "headers",
    [
        [bearer(KEY), bearer(KEY)],
        [(b"x-api-key", KEY), (b"x-api-key", KEY)],
        [(b"x-api-key", b""), (b"x-api-key", KEY)],
        [(AUTHORIZATION, b"Basic dTpw"), (AUTHORIZATION, b"Basic dTpw")],
        [bearer(KEY), (b"x-api-key", KEY + b"d")],
        [(b"api-key", KEY), (b"x-api-key", TOKEN)],
        [(AUTHORIZATION, b"DPoP " + TOKEN), (b"x-api-key", TOKEN)],
        [(AUTHORIZATION, b"DPoP " + TOKEN), (b"x-api-key", b"certificate")],
        [bearer(KEY), (b"x-api-key", b"certificate")],
        [(AUTHORIZATION, b"Basic dTpw"), (b"x-api-key", KEY)],
        [(AUTHORIZATION, b"Basic dTpw"), (b"x-api-key", b"certificate")],
    ],
)
def test_what_contradicts_itself_is_nobody(headers: Headers) -> None:
    with pytest.raises(AuthenticationError) as refused:
        parse_presented(headers)
    assert refused.value.code == "ambiguous_credential"


@pytest.mark.parametrize(
    "headers",
    [
        [(b"x-api-key", b"")],
        [(b"x-goog-api-key", b"  ")],
        [(AUTHORIZATION, b"")],
        [(AUTHORIZATION, b"Bearer")],
        [(AUTHORIZATION, b"Bearer ")],
        [(AUTHORIZATION, TOKEN)],
        [(AUTHORIZATION, b"Digest abc")],
        [(AUTHORIZATION, b"Bearer\t" + TOKEN)],
        [(AUTHORIZATION, b"certificate")],
        [bearer(b"A" * 8193)],
        [(b"api-key", b"A" * 8193)],
    ],
)
def test_what_can_be_nobodys_secret(headers: Headers) -> None:
    with pytest.raises(AuthenticationError) as refused:
        parse_presented(headers)
    assert refused.value.code == "invalid_token"


@pytest.mark.parametrize("value", [b"Certificate", b"certificates", b"unused", b"mastio_sk", b"Mastio_sk_abc"])
def test_what_is_of_no_other_kind_must_be_a_token(value: bytes) -> None:
    presented = parse_presented([(b"x-api-key", value)])
    assert presented is not None and presented.kind == "token"


def test_the_word_is_only_good_as_bearer() -> None:
    presented = parse_presented([(AUTHORIZATION, b"DPoP certificate")])
    assert presented is not None and presented.kind == "token"


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("Basic YTpi", ("a", "b")),
        ("basic  YTpi ", ("a", "b")),
        ("Basic OmI=", ("", "b")),
        ("Basic YTo=", ("a", "")),
        ("Basic YTpiOmM=", ("a", "b:c")),
        ("Basic w7w6w7w=", ("ü", "ü")),
        ("Basic", None),
        ("Basic YWI=", None),
        ("Basic YTpi!", None),
        ("Basic YTp", None),
        ("Basic /zr/", None),
        ("Bearer YTpi", None),
        ("", None),
        ("Basic " + "YTpi" * 2049, None),
    ],
)
def test_a_password(header: str, found: tuple[str, str] | None) -> None:
    """RFC 7617 §2: the user has no colon, the password may."""
    assert parse_password(header) == found
    assert is_password(b"authorization", header.encode()) == header.lower().startswith("basic")
    assert not is_password(b"x-api-key", header.encode())


def test_a_kept_code_has_an_end_and_is_found_without_it() -> None:
    kept = hash_claim(b"key", "digest")
    limited = limit_claim(kept, 1_800_000_000.7)
    assert (end_of_claim(limited), find_name(limited)) == (1_800_000_000, kept)
    assert end_of_claim(kept) == 0.0, "a code without an end is good no more"
    assert find_name(kept) == kept
    token = hash_digest(b"key", "digest")
    assert find_name(token) == token
    for end in ("", "-1", "1e9", "9" * 5 + ":9", "²"):
        assert end_of_claim(f"{kept}:{end}") == 0.0
