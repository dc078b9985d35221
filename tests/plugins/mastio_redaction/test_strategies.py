"""What values become, that it can be undone by those who may, and by nobody else."""

import re
import string
from random import Random

import pytest

from mastio_redaction.catalogue import CATALOGUE
from mastio_redaction.checks.digits import find_iban, has_luhn
from mastio_redaction.engine import Engine
from mastio_redaction.replacement.fpe import DIGITS, FF31, LOWER, MIXED, UPPER, FormError, alphabet_of
from mastio_redaction.replacement.strategies import (
    Keys,
    ReidentifyError,
    Strategy,
    fingerprint,
    mask,
    reidentify,
    replace,
    truncate,
)
from support.redaction.values import VALUES
from support.redaction.words import WORDS

KEYS = Keys(bytes(range(32)))
OTHER = Keys(bytes(range(1, 33)))
BASE64 = DIGITS + string.ascii_uppercase + string.ascii_lowercase + "+/"

ACVP = [
    ("2DE79D232DF5585D68CE47882AE256D6", "CBD09280979564", DIGITS, "3992520240", "8901801106"),
    ("01C63017111438F7FC8E24EB16C71AB5", "C4E822DCD09F27", DIGITS,
     "60761757463116869318437658042297305934914824457484538562",
     "35637144092473838892796702739628394376915177448290847293"),
    ("718385E6542534604419E83CE387A437", "B6F35084FA90E1", string.ascii_lowercase, "wfmwlrorcd", "ywowehycyd"),
    ("DB602DFF22ED7E84C8D8C865A941A238", "EBEFD63BCC2083", string.ascii_lowercase,
     "kkuomenbzqvggfbteqdyanwpmhzdmoicekiihkrm", "belcfahcwwytwrckieymthabgjjfkxtxauipmjja"),
    ("AEE87D0D485B3AFD12BD1E0B9D03D50D", "5F9140601D224B", BASE64, "ixvuuIHr0e", "GR90R1q838"),
    ("7B6C88324732F7F4AD435DA9AD77F917", "3F42102C0BAB39", BASE64,
     "21q1kbbIVSrAFtdFWzdMeIDpRqpo", "cvQ/4aGUV4wRnyO3CHmgEKW5hk8H"),
    ("F62EDB777A671075D47563F3A1E9AC797AA706A2D8E02FC8", "493B8451BF6716", DIGITS, "4406616808", "1807744762"),
    ("49CCB8F62D941E5684599ECA0300937B5C766D053E109777", "0BFCF75CDC2FC1", string.ascii_lowercase,
     "jaxlrchjjx", "kjdbfqyahd"),
    ("1FAA03EFF55A06F8FAB3F1DC57127D493E2F8F5C365540467A3A055BDBE6481D", "4D67130C030445", DIGITS,
     "3679409436", "1735794859"),
    ("9CE16E125BD422A011408EB083355E7089E70A4CD2F59E141D0B94A74BCC5967", "4684635BD2C821", DIGITS,
     "85783290820098255530464619643265070052870796363685134012",
     "75104723514036464144839960480545848044718729603261409917"),
    ("F6807FB9688937E4D4956006C8F0CB2394148A5F4B14666CF353F4941428FFD7", "30C87B99890096", string.ascii_lowercase,
     "wrammvhudopmaazlsxevzwzwpezzmghwfnmkitnk", "nzftnfkliuctlmtdfrxfhwgevrbcbgljurnytxkj"),
    ("C58BCBD08B90006CEC7E82B2D987D79F6A21111DEF0CEBB273CBAEB2D6CD4044", "7036604882667B", BASE64,
     "bz5TcS1krnD8IOLdrQeKzXkLAa6h", "Z6x3/9LPW8SZunRezRM8J68Q4J03"),
]  # fmt: skip
"""NIST's ACVP samples of FF3-1 for AES-128, 192 and 256 and radix 10, 26 and 64."""


@pytest.mark.parametrize(("key", "tweak", "alphabet", "plain", "exchanged"), ACVP)
def test_ff3_1_agrees_with_the_samples(key: str, tweak: str, alphabet: str, plain: str, exchanged: str) -> None:
    cipher = FF31(bytes.fromhex(key), bytes.fromhex(tweak), alphabet)
    assert cipher.encrypt(plain) == exchanged
    assert cipher.decrypt(exchanged) == plain


def test_ff3_1_takes_no_domain_that_can_be_tried_through() -> None:
    cipher = FF31(bytes(32), bytes(7))
    assert (cipher.least, cipher.most) == (6, 56)
    for text in ("12345", "1" * 57, "12345x", ""):
        with pytest.raises(FormError):
            cipher.encrypt(text)
    assert len({FF31(bytes(16), bytes(7)).encrypt(f"{n:06}") for n in range(0, 1_000_000, 997)}) == 1_004


@pytest.mark.parametrize(("characters", "alphabet"), [("123", DIGITS), ("A1", UPPER), ("a1", LOWER), ("aB", MIXED)])
def test_the_least_alphabet_is_taken(characters: str, alphabet: str) -> None:
    assert alphabet_of(characters) == alphabet


@pytest.mark.parametrize(
    "value", ["4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00", "a1B2c3d4", "123-45-6789", "AB12", "x7K9"]
)  # fmt: skip
def test_the_form_is_kept_and_the_key_turns_it_back(value: str) -> None:
    made = replace("fpe", "X", value, KEYS)
    assert made.strategy == "fpe" and made.token != value
    assert re.sub(r"[^\W_]", "x", made.token) == re.sub(r"[^\W_]", "x", value)
    assert reidentify(made.token, KEYS, kind="X", strategy="fpe") == value
    assert reidentify(made.token, OTHER, kind="X", strategy="fpe") != value
    assert reidentify(made.token, KEYS, kind="Y", strategy="fpe") != value


def test_the_form_turns_back_for_any_value() -> None:
    random = Random(3)
    for _ in range(300):
        value = "".join(random.choices(random.choice([DIGITS, UPPER, LOWER, MIXED]), k=random.randint(6, 30)))
        assert reidentify(replace("fpe", "X", value, KEYS).token, KEYS, kind="X", strategy="fpe") == value


@pytest.mark.parametrize("value", ["12345", "a@b", "1" * 57, "日本語日本語"])
def test_what_has_too_little_form_becomes_a_tag_and_says_so(value: str) -> None:
    made = replace("fpe", "X", value, KEYS)
    assert made.strategy == "tag" and re.fullmatch(r"<X_[0-9a-f]{8}>", made.token)
    assert made.why.endswith(".")


def test_a_tag_is_of_its_type_value_key_and_scope() -> None:
    def tag(kind: str = "A", value: str = "v", keys: Keys = KEYS, scope: bytes = b"s") -> str:
        return replace("tag", kind, value, keys, scope=scope).token

    assert re.fullmatch(r"<A_[0-9a-f]{8}>", tag())
    assert tag() == tag()
    assert len({tag(), tag(value="w"), tag(keys=OTHER), tag(scope=b"t"), tag(kind="B"), tag(kind="A_")}) == 6


def test_a_hash_is_the_same_in_every_session() -> None:
    made = replace("hash", "A", "v", KEYS, scope=b"s")
    assert made == replace("hash", "A", "v", KEYS, scope=b"t")
    assert re.fullmatch("[0-9a-f]{32}", made.token)
    assert made != replace("hash", "A", "v", OTHER)


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        ("4111 1111 1111 1234", "**** **** **** 1234"), ("a@b.c", "*@*.*"), ("1234567", "*******"),
        ("12345678", "****5678"), ("", ""),
    ],
)  # fmt: skip
def test_a_mask_keeps_four_of_many(value: str, masked: str) -> None:
    assert mask(value) == masked


def test_what_is_truncated_keeps_the_beginning_of_what_is_long() -> None:
    assert truncate("4111111111111111") == "4111…"
    assert truncate("hunter2") == "…"


@pytest.mark.parametrize("value", ["anna@example.com", "", "x" * 5000, "Größe 東京", "\ud800"])
def test_what_is_encrypted_comes_back_by_its_token_alone(value: str) -> None:
    token = replace("encrypt", "EMAIL_ADDRESS", value, KEYS).token
    assert re.fullmatch(r"<EMAIL_ADDRESS~[A-Za-z0-9_-]+>", token)
    assert reidentify(token, KEYS) == value
    assert reidentify(token, Keys(OTHER.secret, (KEYS.secret,))) == value
    assert replace("encrypt", "EMAIL_ADDRESS", value, KEYS).token == token


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token.replace("<A~", "<B~"),
        lambda token: token[:-3] + ("AA" if token[-3:-1] != "AA" else "BB") + ">",
        lambda token: token[:12] + ("A" if token[12] != "A" else "B") + token[13:],
        lambda token: "<A_12345678>",
        lambda token: "<A~short>",
        lambda token: "",
    ],
)
def test_a_token_that_was_changed_does_not_come_back(change: object) -> None:
    token = replace("encrypt", "A", "anna@example.com", KEYS).token
    with pytest.raises(ReidentifyError, match=r"\.$"):
        reidentify(change(token), KEYS)  # type: ignore[operator]


def test_a_token_of_another_key_does_not_come_back() -> None:
    with pytest.raises(ReidentifyError, match="not known here"):
        reidentify(replace("encrypt", "A", "v", KEYS).token, OTHER)
    with pytest.raises(ReidentifyError):
        reidentify("<A_12345678>", KEYS, strategy="tag")
    with pytest.raises(ReidentifyError):
        reidentify("123456", KEYS, strategy="fpe")


def test_a_short_key_is_no_key_and_a_key_is_not_shown() -> None:
    with pytest.raises(ValueError, match="32"):
        Keys(b"short")
    assert "\\x01" not in repr(KEYS) and len(repr(KEYS)) < 40


def test_a_fingerprint_does_not_tell_without_the_key() -> None:
    assert fingerprint("v", KEYS) == fingerprint("v", KEYS) != fingerprint("v", OTHER)


# --- surrogates ---------------------------------------------------------------------------------------------------

ENGINE = Engine(CATALOGUE)
VAGUE = {"AZURE_KEY", "US_SSN"}
"""Of one the generator's values have more than the value; of the other a surrogate is from what is never given."""


@pytest.mark.parametrize("name", sorted(set(VALUES) - VAGUE))
def test_a_surrogate_is_of_the_same_type(name: str) -> None:
    missed = 0
    for seed in range(6):
        random = Random(f"{name}{seed}")
        value, words = VALUES[name](random), random.choice(WORDS.get(name, ("",)))
        made = replace("surrogate", name, value, KEYS)
        assert made.token != value
        assert replace("surrogate", name, value, KEYS) == made
        assert len(value) < 6 or replace("surrogate", name, value, OTHER) != made
        text = f"Note: {words}{made.token} is on file."
        missed += not any(span.type == name for span in ENGINE.find(text))
    assert missed <= 1


@pytest.mark.parametrize(
    ("name", "value", "form"),
    [
        ("EMAIL_ADDRESS", "anna@firma.de", r".+@example\.(com|org|net)"),
        ("PHONE_NUMBER", "+49 30 1234567", r"\+1 \d{3} 555 01\d\d"),
        ("PHONE_NUMBER", "(415) 555-2671", r"\(\d{3}\) 555-01\d\d"),
        ("PHONE_NUMBER", "+44 20 7946 0958", r"\+44 7700 900\d{3}"),
        ("IP_ADDRESS", "10.1.2.3", r"(192\.0\.2|198\.51\.100|203\.0\.113)\.\d+"),
        ("IP_ADDRESS", "fe80::1", r"2001:db8::[0-9a-f]+"),
        ("US_SSN", "123-45-6789", r"9\d\d-[0-4]\d-\d{4}"),
        ("MAC_ADDRESS", "AA-BB-CC-DD-EE-FF", r"00-00-5e-00-53-[0-9a-f]{2}"),
        ("CREDIT_CARD", "4111-1111-1111-1111", r"4100-00\d\d-\d{4}-\d{4}"),
        ("DATE_OF_BIRTH", "1980-03-05", r"19\d\d-\d\d-\d\d"),
        ("PERSON", "Jürgen Müller", r"\w+ \w+"),
        ("PASSWORD", "Tr0ub4dor&3", r"[A-Z][a-z]\d[a-z]{2}\d[a-z]{3}&\d"),
    ],
)
def test_a_surrogate_is_nobodys(name: str, value: str, form: str) -> None:
    assert re.fullmatch(form, replace("surrogate", name, value, KEYS).token)


def test_the_check_digits_of_a_surrogate_are_right() -> None:
    for seed in range(50):
        random = Random(seed)
        assert has_luhn(replace("surrogate", "CREDIT_CARD", VALUES["CREDIT_CARD"](random), KEYS).token)
        made = replace("surrogate", "IBAN_CODE", VALUES["IBAN_CODE"](random), KEYS).token
        assert find_iban(made) == (0, len(made))


@pytest.mark.parametrize("strategy", ["tag", "mask", "hash", "encrypt", "surrogate", "fpe"])
def test_no_token_has_the_value_in_it(strategy: Strategy) -> None:
    for name, make in VALUES.items():
        value = make(Random(name))
        if len(value) >= 8:
            assert value not in replace(strategy, name, value, KEYS).token
