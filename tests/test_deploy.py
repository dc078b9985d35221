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


class Checkout:
    """A folder with `deploy.sh` and an environment in which nothing has to be installed. `/usr/local/bin` is another
    folder here."""

    def __init__(self, folder: Path, user: int = 1000) -> None:
        self.home = folder / "home"
        self.root_bin = folder / "root-bin"
        self.command = folder / "checkout" / ".venv" / "bin" / "mastio"
        self.script = folder / "checkout" / "deploy.sh"
        self._tools = folder / "tools"
        for made in (self.home, self.command.parent, self._tools):
            made.mkdir(parents=True)
        functions, _, rest = (ROOT / "deploy.sh").read_text("utf-8").partition('\nparse "$@"\n')
        functions = functions.replace("/usr/local/bin", str(self.root_bin))
        self.script.write_text(f'{functions}\ninstall_missing() {{ :; }}\nensure_venv() {{ :; }}\nparse "$@"\n{rest}')
        self.write(self.command, "echo the command")
        self.write(self.command.with_name("python"), 'echo "started: $*"; exit "${STATUS:-0}"')
        self.write(self._tools / "id", f"echo {user}")

    @staticmethod
    def write(file: Path, text: str) -> None:
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def run(self, *words: str, path: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        folders = [*([str(path)] if path else []), str(self._tools), "/usr/bin", "/bin"]
        known = {"PATH": ":".join(folders), "HOME": str(self.home), **environment}
        return subprocess.run(
            ["bash", str(self.script), *words], capture_output=True, text=True, check=False, env=known
        )

    @property
    def user_bin(self) -> Path:
        return self.home / ".local" / "bin"


@pytest.mark.parametrize("user", [0, 1000])
def test_up_puts_the_command_on_the_path(tmp_path: Path, user: int) -> None:
    checkout = Checkout(tmp_path, user)
    folder = checkout.user_bin if user else checkout.root_bin
    done = checkout.run("up", "--native", path=folder)
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last == f"The command mastio is {folder}/mastio; ./deploy.sh unlink removes it."
    assert "started: -m mastio.bring_up.native up" in done.stdout
    assert subprocess.run([folder / "mastio"], capture_output=True, check=True).stdout == b"the command\n"
    again = checkout.run("up", "--native", path=folder)
    assert again.stdout.splitlines()[-1] == last and again.stderr == ""
    assert checkout.run("unlink").stdout == f"Removed {folder}/mastio.\n"
    assert not (folder / "mastio").is_symlink() and checkout.command.exists()
    assert checkout.run("unlink").returncode == 0, "there is none any more"


def test_a_folder_that_the_shell_does_not_search_is_said(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    said = checkout.run("up", "--native", MASTIO_BIN=str(tmp_path / "own bin")).stdout.splitlines()[-1]
    assert said.endswith(f'removes it. To find it: export PATH="{tmp_path}/own bin:$PATH"')
    assert (tmp_path / "own bin" / "mastio").readlink() == checkout.command and not checkout.user_bin.exists()


FOREIGN = ["file", "link", "dangling link", "folder"]


@pytest.mark.parametrize("kind", FOREIGN)
def test_something_else_of_that_name_stays(tmp_path: Path, kind: str) -> None:
    checkout = Checkout(tmp_path)
    place = checkout.user_bin / "mastio"
    place.parent.mkdir(parents=True)
    other = tmp_path / "other"
    if kind == "file":
        place.write_text("another program")
    elif kind == "folder":
        place.mkdir()
    else:
        if kind == "link":
            other.write_text("another program")
        place.symlink_to(other)
    before = place.lstat()
    done = checkout.run("up", "--native")
    assert done.returncode == 0, done.stderr
    said = f"{place} is something else and stays. The command is {checkout.command}"
    assert done.stdout.splitlines()[-1] == said
    assert checkout.run("unlink").stdout.startswith("There is no link to ")
    after = place.lstat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert other.exists() == (kind == "link")


def test_a_link_that_cannot_be_made_stops_nothing(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    (tmp_path / "file").touch()
    done = checkout.run("up", "--native", MASTIO_BIN=str(tmp_path / "file"))
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.splitlines()[-1] == f"There can be no link in {tmp_path}/file. The command is {checkout.command}"


def test_no_link_is_made_where_none_is_wanted(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    done = checkout.run("up", "--native", "--no-link", "--port", "9444")
    assert done.stdout == "started: -m mastio.bring_up.native up --port 9444\n" and not checkout.user_bin.exists()


def test_a_failure_is_the_status_of_up_and_down_keeps_the_link(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    assert checkout.run("up", "--native", STATUS="2").returncode == 2
    assert checkout.run("down", "--native").stdout == "started: -m mastio.bring_up.native down\n"
    assert (checkout.user_bin / "mastio").is_symlink()


def test_both_distributions_are_installed_and_again_when_one_asks_for_something_else(tmp_path: Path) -> None:
    text = (ROOT / "deploy.sh").read_text("utf-8").partition('\nparse "$@"\n')[0]
    Checkout.write(tmp_path / "deploy.sh", f"{text}\nfind_python() {{ echo none; }}\nensure_venv")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / "client").mkdir()
    Checkout.write(tmp_path / ".venv" / "bin" / "python", f'echo "$*" >>{tmp_path}/installed')
    pins = [tmp_path / name for name in ("requirements.lock", "pyproject.toml", "client/pyproject.toml")]
    for file in pins:
        file.write_text("before")

    def installed() -> list[str]:
        (tmp_path / "installed").write_text("")
        subprocess.run(["bash", str(tmp_path / "deploy.sh")], capture_output=True, check=True)
        return (tmp_path / "installed").read_text().splitlines()

    locked, own = installed()
    assert f"--require-hashes -r {tmp_path}/requirements.lock" in locked
    assert own.endswith(f"--no-deps --no-build-isolation -e {tmp_path}/client -e {tmp_path}")
    assert installed() == []
    for file in pins:
        file.write_text("after")
        assert len(installed()) == 2, file
