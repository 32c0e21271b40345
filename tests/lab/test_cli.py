"""What a person asks wrongly gets one sentence, a hint and an exit code, never a traceback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from labkit import system
from labkit.errors import LabError
from labkit.holder import hold_lab
from support.lab import program


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*program(), *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["up", "--racks", "0"], 2, "between 1 and 256, not 0"),
        (["up", "--hosts", "3,five"], 2, "3,five"),
        (["up", "--racks", "2", "--hosts", "3,5,8"], 2, "contradicts"),
        (["up", "--host-rate", "fast"], 2, "'fast'"),
        (["up", "--hops", "99"], 2, "hops"),
        (["up", "--name", "Lab!"], 2, "'Lab!'"),
        (["up", "--topology", "missing.toml"], 2, "missing.toml"),
        (["up", "--topology", "missing.toml", "--racks", "2"], 2, "--racks contradicts"),
        (["up", "--topology", "missing.toml", "--routed"], 2, "--routed contradicts"),
        (["up", "--set-env", "RUN"], 2, "'RUN' is not NAME=VALUE"),
        (["up", "--set-env", 'RUN="1"\nPermitRootLogin yes'], 2, "NAME=VALUE"),
        (["down", "--name", "nosuchlab"], 1, "nosuchlab"),
        (["down", "--dir", "."], 1, "does not hold a lab"),
        (["exec", "--name", "nosuchlab", "n01", "--", "true"], 1, "nosuchlab"),
        (["set", "--name", "nosuchlab", "n01", "--rate", "1mbit"], 1, "nosuchlab"),
        (["stop", "--name", "nosuchlab", "n01"], 1, "nosuchlab"),
    ],
)
def test_wrong_use(arguments: list[str], exit_code: int, said: str, tmp_path: Path) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == exit_code
    first = done.stderr.splitlines()[0]
    assert first.startswith("error: ")
    assert said in first
    assert not first.endswith(".")
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_who_holds_a_lab_that_does_not_go_up_is_told_why() -> None:
    with pytest.raises(RuntimeError, match="between 1 and 256, not 0"), hold_lab(["--racks", "0"]):
        pass


def test_help_ends_with_an_example() -> None:
    assert "lab exec n01" in run("--help").stdout.split("Example:")[1]


def test_names_the_packages_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "SYSTEM_PATH", str(tmp_path))
    with pytest.raises(LabError, match="sshd") as caught:
        system.require_programs()
    assert caught.value.hint is not None
    assert {"apt-get", "iproute2", "openssh-server"} <= set(caught.value.hint.split())
