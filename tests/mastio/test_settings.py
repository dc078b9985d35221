from pathlib import Path

import pytest

from mastio.cli.appliance.check import describe
from mastio.exchange.errors import ConfigurationError
from mastio.process.plan import read_plan
from mastio.settings import CORE_SECTIONS, RENAMED, read_settings


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "mastio.toml"
    file.write_text(text)
    return file


def test_defaults_without_a_file(tmp_path: Path) -> None:
    settings, problems = read_settings(tmp_path / "mastio.toml", {})
    assert problems == []
    assert (settings.edge.port, settings.server.workers) == (9443, 1)
    assert settings.database_url(tmp_path).startswith("sqlite+aiosqlite:///")


def test_the_environment_overrides(tmp_path: Path) -> None:
    file = write(tmp_path, "[server]\nworkers = 2\n")
    environment = {"MASTIO_SERVER__WORKERS": "4", "MASTIO_SERVER__TRUST_DOMAIN": "a.example", "MASTIO_VECTORS": "/x"}
    settings, problems = read_settings(file, environment)
    assert (settings.server.workers, settings.server.trust_domain, problems) == (4, "a.example", [])


def test_every_problem_is_named_and_no_value_is_shown(tmp_path: Path) -> None:
    text = (
        'nonsense = 1\n[server]\nworkers = "hunter2"\nworker = 1\n[edge]\nport = 70000\n'
        '[llm]\napi_key = "hunter2"\n[other]\n[plugins]\nactive = ["mtls", "mtls", "gone", "llm"]\n'
    )
    _, problems = read_plan(tmp_path, write(tmp_path, text))
    said = "\n".join(problems)
    for part in ("nonsense", "server.workers", "server.worker:", "edge.port", "llm.api_key", "other", "twice", "gone"):
        assert part in said, said
    assert "hunter2" not in said


def test_a_key_of_an_earlier_version_names_the_one_in_its_place(tmp_path: Path) -> None:
    named = "edge.enrollments_per_second: this key is gone; set edge.enrollments_per_minute (docs/settings.md)."
    _, problems = read_settings(write(tmp_path, "[edge]\nenrollments_per_second = 1000\n"), {})
    assert problems == [named]
    _, problems = read_settings(tmp_path / "none", {"MASTIO_EDGE__ENROLLMENTS_PER_SECOND": "1000"})
    assert problems == [named]
    for old, new in RENAMED.items():
        section, key = new.split(".")
        assert (
            key in CORE_SECTIONS[section].model_fields and old.split(".")[1] not in CORE_SECTIONS[section].model_fields
        )


@pytest.mark.parametrize(
    "url", ["http://a.example", "https://a.example/path", "https://user@a.example", "a.example", "https://a.example?x"]
)
def test_the_public_url_is_an_origin(tmp_path: Path, url: str) -> None:
    _, problems = read_settings(write(tmp_path, f'[server]\npublic_url = "{url}"\n'), {})
    assert len(problems) == 1 and problems[0].startswith("server.public_url")


def test_a_file_that_is_not_toml(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        read_settings(write(tmp_path, "[server"), {})


def test_check_hides_a_password(tmp_path: Path) -> None:
    file = write(tmp_path, '[database]\nurl = "postgresql+asyncpg://mastio:hunter2@db.example/mastio"\n')
    plan, problems = read_plan(tmp_path, file)
    shown = str(describe(plan, problems))
    assert "hunter2" not in shown and "db.example" in shown
