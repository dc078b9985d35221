"""Every type is found where it is meant, and its twin is not: another check digit, or without the words before it."""

from random import Random

import pytest

from mastio_redaction.catalogue import BY_NAME, CATALOGUE
from mastio_redaction.engine import Engine, Span
from support.redaction.values import VALUES
from support.redaction.words import WORDS

ENGINE = Engine(CATALOGUE)

PARTLY = {"AZURE_KEY": "AccountKey="}
"""What stands before the value in what the generator makes."""

TWINS = {
    "EMAIL_ADDRESS": "ask @anna at example dot com or see a@b",
    "PHONE_NUMBER": "+999 123 4567 and 2024-555-01",
    "CREDIT_CARD": "4111 1111 1111 1112 and 4111111111111112 and 1234567812345670",
    "IBAN_CODE": "DE88 3704 0044 0532 0130 00",
    "BITCOIN_ADDRESS": "1BoatSLRHtKNngkdXEeobR76b53LETtpyU",
    "ETHEREUM_ADDRESS": "0x52908400098527886e0f7030069857d2e4169e",
    "US_SSN": "000-12-3456 and 666-12-3456 and 123-00-4567 and 123-45-0000 and 912-45-6789",
    "US_ITIN": "912-45-6789",
    "UK_NINO": "BG 12 34 56 A and QQ123456Z",
    "CA_SIN": "130-692-545",
    "CH_AHV": "756.1234.5678.90",
    "FR_NIR": "1 84 12 76 451 089 47",
    "ES_DNI": "12345678A and X1234567A",
    "IT_FISCAL_CODE": "RSSMRA85T10A562T",
    "BE_NATIONAL_NUMBER": "85.07.30-033.62",
    "IE_PPS": "1234567A",
    "DK_CPR": "991231-1234",
    "SE_PERSONNUMMER": "811228-9875",
    "FI_HETU": "131052-308U",
    "CZ_BIRTH_NUMBER": "710319/2746",
    "IN_AADHAAR": "2234 5678 9013",
    "IN_PAN": "ABCXE1234F",
    "CN_RESIDENT_ID": "110101194912310021",
    "KR_RRN": "991331-1234567",
    "SG_NRIC": "S1234567A",
    "HK_ID": "A123456(4)",
    "BR_CPF": "390.533.447-06",
    "BR_CNPJ": "16.727.230/0001-98",
    "MX_CURP": "BOXW310820HNERXN08",
    "CL_RUT": "12.531.909-3",
    "AR_CUIT": "20-05536168-3",
    "US_MEDICARE": "1SG4-TE5-MK7S",
    "IP_ADDRESS": "version 1.2.3.4 and 999.1.1.1 and 10.0.0.1.2 and 12:30:45",
    "MAC_ADDRESS": "00:00:00:00:00:00 and 00:1B:44:11:3A",
    "VEHICLE_ID": "1M8GDM9AAKP042788 and ABCDEFGHABCDEFGHA",
    "COORDINATES": "1.5, 2.5 and 99.123456, 200.123456",
    "POSTAL_CODE": "SW1A and A1 B2 C3",
    "JWT": "eyJmb28iOiJiYXIifQ.eyJzdWIiOiIxIn0.abc",
    "PRIVATE_KEY": "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----",
    "SSH_KEY": "ssh-ed25519 key of the host",
    "CONNECTION_STRING": "postgres://db.example.com:5432/orders and https://example.com/a:b@c",
    "PERSON": "Paris Hilton Hotel Group opened. Will the Mark May Report be read?",
    "STREET_ADDRESS": "The 12 best streets of the way to go 5",
}
"""Of those that their form gives away: nearly the same, and none."""

PREFIXED = sorted(
    name for name in VALUES if name not in TWINS and name not in WORDS and BY_NAME[name].cls == "credential"
)
"""Of those that begin with letters of their own: the twin has others."""


def found(text: str) -> list[Span]:
    return ENGINE.find(text)


def test_there_are_as_many_as_promised() -> None:
    assert len(BY_NAME) == len(CATALOGUE) >= 45
    assert sum(kind.cls == "credential" for kind in CATALOGUE) >= 15
    countries = {kind.name.split("_")[0] for kind in CATALOGUE if kind.cls == "national_id" and kind.name[2] == "_"}
    assert len(countries) >= 15
    assert set(VALUES) == set(BY_NAME)


@pytest.mark.parametrize("name", sorted(VALUES))
@pytest.mark.parametrize("frame", ["Note: {} is on file.", "{}", "({})", '"{}",', "a\n{}\nb"])
def test_every_type_is_found(name: str, frame: str) -> None:
    for seed in range(12):
        random = Random(f"{name}{seed}")
        value = VALUES[name](random)
        text = frame.format(random.choice(WORDS.get(name, ("",))) + value)
        start, end = text.index(value) + len(PARTLY.get(name, "")), text.index(value) + len(value)
        spans = found(text)
        assert [(s.start, s.end, s.type) for s in spans if s.type == name] == [(start, end, name)], (text, spans)


@pytest.mark.parametrize("name", sorted(TWINS))
def test_what_is_nearly_the_same_is_not(name: str) -> None:
    assert [span for span in found(TWINS[name]) if span.type == name] == []


@pytest.mark.parametrize("name", sorted(set(WORDS) - {"PHONE_NUMBER", "UK_NHS", "US_DEA", "IMEI"}))
def test_without_the_words_before_it_it_is_not(name: str) -> None:
    """Numbers alone are anything. (The form of those that are left out can be enough.)"""
    for seed in range(12):
        text = f"see {VALUES[name](Random(f'{name}{seed}'))} there"
        assert [span for span in found(text) if span.type == name] == [], text


@pytest.mark.parametrize("name", PREFIXED)
def test_another_beginning_is_another_thing(name: str) -> None:
    for seed in range(12):
        value = VALUES[name](Random(f"{name}{seed}"))
        text = f"see q{value[1:]} there"
        assert [span for span in found(text) if span.type == name] == [], text


def test_every_type_has_a_twin() -> None:
    assert set(VALUES) - set(TWINS) - set(WORDS) - set(PREFIXED) == set()
    assert {"PHONE_NUMBER", "UK_NHS", "US_DEA", "IMEI"} <= set(WORDS)
