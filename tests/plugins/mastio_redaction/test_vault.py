"""What the model echoes comes back to the caller as it was, whole or in pieces, however the model wrote it."""

from random import Random

import pytest

from mastio_redaction.catalogue import CATALOGUE
from mastio_redaction.engine import Engine
from mastio_redaction.replacement.strategies import RESTORABLE, STRATEGIES, Keys, Strategy
from mastio_redaction.replacement.vault import Restorer, Vault
from support.redaction.people import LANGUAGES, person
from support.redaction.values import VALUES
from support.redaction.words import WORDS

ENGINE = Engine(CATALOGUE)
KEYS = Keys(bytes(range(32)))
MAIL = "anna.k@example.org"


def streamed(vault: Vault, pieces: list[str]) -> str:
    restorer = Restorer(vault)
    return "".join([restorer.feed(piece) for piece in pieces]) + restorer.close()


def cut_everywhere(vault: Vault, text: str, expected: str) -> None:
    assert vault.restore(text) == expected
    for at in range(len(text) + 1):
        assert streamed(vault, [text[:at], text[at:]]) == expected, text[:at]
    assert streamed(vault, list(text)) == expected


def many(random: Random, count: int) -> list[tuple[str, str]]:
    names = [name for name in VALUES if name not in ("PRIVATE_KEY", "AGE", "CARD_SECURITY_CODE")]
    return [(name, VALUES[name](random)) for name in random.choices(names, k=count)]


@pytest.mark.parametrize("strategy", sorted(RESTORABLE))
def test_a_thousand_echoes_come_back_exactly(strategy: Strategy) -> None:
    random = Random(strategy)
    vault = Vault(KEYS, b"session")
    said: list[str] = []
    meant: list[str] = []
    for name, value in many(random, 1000):
        before, after = random.choice([("", " "), ("see ", ", "), ("(", ") "), ("«", "» "), ("**", "** ")])
        said += (before, vault.replace(strategy, name, value).token, after)
        meant += (before, value, after)
    text, expected = "".join(said), "".join(meant)
    assert vault.restore(text) == expected
    for size in (1, 7, 64):
        assert streamed(vault, [text[at : at + size] for at in range(0, len(text), size)]) == expected
    cuts = sorted(random.choices(range(len(text)), k=3000))
    assert streamed(vault, [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]) == expected


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_text_is_replaced_and_what_can_be_is_restored(strategy: Strategy) -> None:
    vault = Vault(KEYS)
    text = f"Mail {MAIL}, pay 4111 1111 1111 1111 to DE89 3704 0044 0532 0130 00. Again: {MAIL}!"
    replaced = vault.apply(text, ENGINE.find(text), lambda span: strategy)
    assert MAIL not in replaced and "4111 1111 1111 1111" not in replaced
    assert (vault.restore(replaced) == text) is (strategy in RESTORABLE)
    assert (len(vault) > 0) is (strategy in RESTORABLE)


def test_only_what_was_chosen_is_replaced() -> None:
    vault = Vault(KEYS)
    text = f"Mail {MAIL}, pay 4111 1111 1111 1111"
    replaced = vault.apply(text, ENGINE.find(text), lambda span: "tag" if span.type == "CREDIT_CARD" else None)
    assert replaced.startswith(f"Mail {MAIL}, pay <CREDIT_CARD_") and replaced.endswith(">")


def test_the_same_value_has_the_same_token_and_another_scope_another() -> None:
    one, two, other = Vault(KEYS, b"s"), Vault(KEYS, b"s"), Vault(KEYS, b"t")
    tokens = [vault.replace("tag", "EMAIL_ADDRESS", MAIL).token for vault in (one, one, two, other)]
    assert tokens[0] == tokens[1] == tokens[2] != tokens[3]


TOKEN = Vault(KEYS).replace("tag", "EMAIL_ADDRESS", MAIL).token
ECHOES = [
    TOKEN,
    TOKEN.lower(),
    TOKEN.upper(),
    TOKEN.replace("_", "\\_"),
    TOKEN.replace("<", "\\<").replace(">", "\\>"),
    TOKEN.replace("<", "&lt;").replace(">", "&gt;").replace("_", "\\_"),
]


@pytest.mark.parametrize("echo", ECHOES)
def test_however_the_model_writes_a_tag(echo: str) -> None:
    vault = Vault(KEYS)
    vault.replace("tag", "EMAIL_ADDRESS", MAIL)
    cut_everywhere(
        vault,
        f"ask `{echo}`, <b>or</b> {echo}{echo} a<b &amp; c\\",
        f"ask `{MAIL}`, <b>or</b> {MAIL}{MAIL} a<b &amp; c\\",
    )


@pytest.mark.parametrize(
    "text", ["<EMAIL_ADDRESS_00000000>", "EMAIL_ADDRESS", "<EMAIL_ADDRESS_", "<", "<<<", "&lt;EM", "\\", "a < b > c"]
)
def test_what_is_no_token_stays(text: str) -> None:
    vault = Vault(KEYS)
    vault.replace("tag", "EMAIL_ADDRESS", MAIL)
    cut_everywhere(vault, f"{text} and {text}", f"{text} and {text}")


@pytest.mark.parametrize("strategy", ["surrogate", "fpe", "hash"])
def test_a_token_inside_a_longer_word_is_none(strategy: Strategy) -> None:
    vault = Vault(KEYS)
    token = vault.replace(strategy, "PASSWORD", "Wint3rTime99").token
    cut_everywhere(vault, f"x{token} {token}x {token}", f"x{token} {token}x Wint3rTime99")


def test_of_two_tokens_the_longer_one_is_meant() -> None:
    vault = Vault(KEYS)
    vault._originals = {"anna lee": "Berta Long", "anna lee smith": "Carla Longer"}
    vault._matcher = None
    cut_everywhere(
        vault,
        "by Anna Lee Smith, Anna Lee, Anna Leeds and ANNA LEE",
        "by Carla Longer, Berta Long, Anna Leeds and Berta Long",
    )


def test_two_values_never_share_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """With suffixes of one digit, sixteen of seventeen values would."""
    vault = Vault(KEYS)
    monkeypatch.setattr("mastio_redaction.replacement.vault.SUFFIX", 1)
    monkeypatch.setattr("mastio_redaction.replacement.strategies.SUFFIX", 1)
    values = [f"user{n}@example.org" for n in range(300)]
    tokens = [vault.replace("tag", "EMAIL_ADDRESS", value).token for value in values]
    tokens += [vault.replace("surrogate", "IP_ADDRESS", f"10.0.{n // 200}.{n % 200 + 1}").token for n in range(1200)]
    assert len(set(map(str.lower, tokens))) == len(tokens)
    assert vault.restore(" ".join(tokens[:300])) == " ".join(values)


def test_the_restorer_holds_back_no_more_than_the_beginning_of_a_token() -> None:
    vault = Vault(KEYS)
    vault.replace("tag", "EMAIL_ADDRESS", MAIL)
    restorer = Restorer(vault)
    assert restorer.feed("Nothing of that kind in here, a < b") == "Nothing of that kind in here, a < b"
    assert restorer.feed(" <EM") == " " and restorer.held == 3
    assert restorer.feed("PTY> ") == "<EMPTY> " and restorer.held == 0
    assert restorer.feed(TOKEN[:-1]) == "" and restorer.feed(TOKEN[-1]) == MAIL


def test_an_empty_vault_passes_everything_on() -> None:
    assert streamed(Vault(KEYS), ["<", "EMAIL", "_"]) == "<EMAIL_"


def test_a_whole_conversation(capsys: pytest.CaptureFixture[str]) -> None:
    """What people write, in every language, replaced and echoed, comes back to the letter."""
    random = Random(11)
    for language in LANGUAGES:
        vault = Vault(KEYS, language.encode())
        lines = [f"{person(random, language)}: {random.choice(WORDS.get(n, ('',)))}{v}" for n, v in many(random, 40)]
        text = "\n".join(lines)
        for strategy in ("tag", "encrypt"):
            replaced = vault.apply(text, ENGINE.find(text), lambda span, chosen=strategy: chosen)  # type: ignore[misc]
            assert vault.restore(replaced) == text
