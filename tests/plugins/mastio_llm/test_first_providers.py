"""Keys of vendors in the environment of the first start become providers, and of no other start."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mastio.exchange.errors import ConfigurationError
from mastio_llm.first_providers import read_first_providers
from support.appliance import Appliance


def read(path: str) -> str:
    return {"/k": " sk-from-file\n", "/odd": "two words"}[path]


def test_what_the_environment_names() -> None:
    given = {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY_FILE": "/k", "GEMINI_API_KEY": "", "HOME": "/root"}
    assert [(variable, row.name, row.kind, row.api_key) for variable, row in read_first_providers(given, read)] == [
        ("OPENAI_API_KEY", "openai", "openai", "sk-1"),
        ("ANTHROPIC_API_KEY_FILE", "anthropic", "anthropic", "sk-from-file"),
    ]
    assert read_first_providers({}, read) == []


@pytest.mark.parametrize("given", [{"OPENAI_API_KEY": "a\nb"}, {"GEMINI_API_KEY_FILE": "/odd"}])
def test_what_is_no_key_stops_the_start(given: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="is not a key") as refused:
        read_first_providers(given, read)
    assert "two words" not in str(refused.value)


@pytest.fixture
def fresh() -> Iterator[Appliance]:
    with tempfile.TemporaryDirectory() as folder:
        appliance = Appliance(Path(folder) / "data")
        yield appliance
        appliance.stop()


def test_a_new_appliance_has_them_and_what_an_admin_removed_stays_away(fresh: Appliance) -> None:
    fresh.environment = {"ANTHROPIC_API_KEY": "sk-ant-canary", "OPENAI_API_KEY": "sk-canary"}
    fresh.start()
    with fresh.admin() as admin:
        listed = admin.get("/v1/admin/providers")
        assert [item["name"] for item in listed.json()["items"]] == ["anthropic", "openai"]
        assert "canary" not in listed.text and "canary" not in fresh.log()
        assert admin.delete("/v1/admin/providers/openai").status_code == 204
    fresh.stop()
    fresh.start()
    with fresh.admin() as admin:
        assert [item["name"] for item in admin.get("/v1/admin/providers").json()["items"]] == ["anthropic"]
