"""`deploy.sh` installs missing parts without touching what an operator has set up. No package is installed here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PLACE = "/usr/sbin/policy-rc.d"


def install(folder: Path, *, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs `install_missing` where Python and nginx are missing, with an apt-get that notes the policy that it sees."""
    policy = folder / "policy-rc.d"
    functions = (ROOT / "deploy.sh").read_text("utf-8").partition('\nparse "$@"\n')[0].replace(PLACE, str(policy))
    commands = folder / "bin"
    commands.mkdir()
    for name, text in {
        "apt-get": f"cat {policy} >{folder}/seen 2>/dev/null; exit {status}",
        "id": "echo 0",
    }.items():
        (commands / name).write_text(f"#!/bin/sh\n{text}\n")
        (commands / name).chmod(0o755)
    script = folder / "deploy.sh"
    script.write_text(
        f'{functions}\nfind_python() {{ :; }}\nfind_nginx() {{ :; }}\nPATH="{commands}:$PATH"\ninstall_missing\n'
    )
    return subprocess.run(["bash", str(script)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("status", [0, 1])
def test_the_policy_of_an_operator_stays(tmp_path: Path, status: int) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text("#!/bin/sh\n# the operator's\nexit 104\n")
    done = install(tmp_path, status=status)
    assert done.returncode == (2 if status else 0), done.stderr
    assert policy.read_text() == "#!/bin/sh\n# the operator's\nexit 104\n" == (tmp_path / "seen").read_text()


def test_a_link_of_an_operator_stays(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.symlink_to("/nowhere/policy")
    assert install(tmp_path).returncode == 0
    assert policy.is_symlink() and policy.readlink() == Path("/nowhere/policy")


@pytest.mark.parametrize("status", [0, 1])
def test_ours_is_there_for_as_long_as_packages_are_installed(tmp_path: Path, status: int) -> None:
    done = install(tmp_path, status=status)
    assert done.returncode == (2 if status else 0), done.stderr
    assert "exit 101" in (tmp_path / "seen").read_text()
    assert not (tmp_path / "policy-rc.d").exists()
