"""What the scripts do on a machine that lacks packages, played on a path of links to programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
NOBODY = 65534

# What the library itself calls; everything else is as if it were not installed.
BASE_PROGRAMS = [
    *("bash", "sort", "cat", "mktemp", "tail", "rm", "printf", "id", "true"),
    *("sleep", "tr", "sed"),
]


@pytest.fixture
def machine() -> Iterator[Path]:
    """A folder that any user may read: the scripts, and `bin`, the whole path of the machine."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(SCRIPTS / "lib", folder / "lib")
        (folder / "bin").mkdir()
        for program in BASE_PROGRAMS:
            found = shutil.which(program)
            assert found is not None
            (folder / "bin" / program).symlink_to(found)
        yield folder


def add_program(machine: Path, name: str, text: str = "") -> Path:
    program = machine / "bin" / name
    program.write_text(f"#!/bin/bash\n{text}\n")
    program.chmod(0o755)
    return program


def add_python(machine: Path, lacks: str = "", prefix: str = "/usr") -> Path:
    """A Python that answers the library's two questions: what it lacks, and where it is from."""
    return add_program(
        machine, "python3", f'if [[ $1 == -c ]]; then echo "{prefix}"; else printf "{lacks}"; fi'
    )


def run(machine: Path, program: str, user: int | None = None) -> subprocess.CompletedProcess[str]:
    parts = [f". {machine}/lib/{name}.sh\n" for name in ("say", "quietly", "packages")]
    lines = "".join(parts) + program
    return subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", lines],
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": str(machine / "bin"), "TMPDIR": str(machine)},
        cwd="/",
        user=user,
    )


def test_bare_machine_lacks_every_package_of_the_groups(machine: Path) -> None:
    python = add_python(machine, lacks="python3.11-dev\\npython3.11-venv\\n")
    result = run(machine, f"missing_packages {python} build lab tools check")
    assert result.stdout.split() == [
        *(
            "cmake",
            "fping",
            "g++",
            "hostname",
            "iperf3",
            "iproute2",
            "make",
            "mount",
            "openssh-client",
        ),
        *("openssh-server", "python3.11-dev", "python3.11-venv", "shellcheck"),
    ]


def test_only_what_is_missing_is_named(machine: Path) -> None:
    python = add_python(machine)
    for name in ["g++", "make", "mpirun.openmpi", "mpicc.openmpi", "mpirun.mpich"]:
        add_program(machine, name)
    result = run(machine, f"missing_packages {python} build mpi")
    assert result.stdout.split() == ["cmake", "libmpich-dev"]


def test_nothing_is_missing_on_a_complete_machine(machine: Path) -> None:
    python = add_python(machine)
    for name in ["g++", "make", "cmake"]:
        add_program(machine, name)
    result = run(machine, f"missing_packages {python} build slurm")
    assert (result.returncode, result.stdout) == (0, "")


def test_this_python_lacks_nothing_to_be_built_against(machine: Path) -> None:
    result = run(machine, f"missing_packages {sys.executable}")
    assert (result.returncode, result.stdout) == (0, "")


def test_python_from_elsewhere_without_headers_is_refused(machine: Path) -> None:
    python = add_python(machine, lacks="python3.11-dev\\npython3.11-venv\\n", prefix="/opt/python")
    result = run(machine, f"missing_packages {python}")
    assert result.returncode == 1
    assert "lacks what python3.11-dev and python3.11-venv brings on Debian" in result.stderr
    assert "hint: set PYTHON to another Python 3.10 or later" in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without any rights")
@pytest.mark.parametrize("sudo", [None, "exit 1"], ids=["no sudo", "sudo asks for a password"])
def test_who_may_not_install_is_told_the_packages_and_the_command(
    machine: Path, sudo: str | None
) -> None:
    add_program(machine, "apt-get", 'echo "apt-get was called" >&2')
    if sudo is not None:
        add_program(machine, "sudo", sudo)
    result = run(machine, "install_packages fping g++", user=NOBODY)
    assert result.returncode == 1
    assert result.stderr == (
        "error: these packages are missing and only root may install them: fping g++\n"
        "hint: run: sudo apt-get install --no-install-recommends -y fping g++\n"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without any rights")
def test_sudo_without_a_password_is_used(machine: Path) -> None:
    add_program(machine, "apt-get", 'echo "apt-get $*" >> "$TMPDIR/calls"')
    # A sudo that gives no rights, so that nothing but the call itself is played.
    add_program(machine, "sudo", 'shift; exec "$@"')
    (machine / "lib" / "packages.sh").write_text(
        (machine / "lib" / "packages.sh").read_text().replace("/usr/sbin/policy-rc.d", "/dev/null")
    )
    machine.chmod(0o777)
    result = run(machine, "install_packages fping g++", user=NOBODY)
    assert (result.returncode, result.stderr) == (0, "installing fping g++ (sudo apt-get)\n")
    assert (machine / "calls").read_text().splitlines() == [
        "apt-get update",
        "apt-get install --no-install-recommends -y fping g++",
    ]


def test_machine_without_apt_is_told_the_packages(machine: Path) -> None:
    result = run(machine, "install_packages fping g++")
    assert result.returncode == 1
    assert "error: these packages are missing and there is no apt-get" in result.stderr
    assert "fping g++" in result.stderr


def test_a_wanted_package_is_tried_once_and_may_fail(machine: Path) -> None:
    add_program(machine, "apt-get", 'echo "apt-get $*" >> "$TMPDIR/calls"; exit 1')
    add_program(machine, "sudo", "exit 1")
    library = machine / "lib" / "packages.sh"
    library.write_text(library.read_text().replace("/usr/sbin/policy-rc.d", "/dev/null"))
    lines = (
        f"install_wanted {machine}/tried native; install_wanted {machine}/tried native lab slurm"
    )
    for _ in range(2):
        assert run(machine, lines).returncode == 0
    assert (machine / "tried").read_text().split() == ["native", "slurm"]
    if os.geteuid() == 0:
        installs = [line for line in (machine / "calls").read_text().splitlines() if "-y" in line]
        start = "apt-get install --no-install-recommends -y"
        assert installs == [
            f"{start} libdpdk-dev libssl-dev pkg-config",
            f"{start} slurm-client slurmctld slurmd",
        ]


def test_what_one_group_wants_does_not_keep_another_from_being_tried(machine: Path) -> None:
    add_program(machine, "apt-get")
    (machine / "tried").write_text("native ")
    line = f"try_packages() {{ echo wanted $*; }}; install_wanted {machine}/tried native browser"
    assert run(machine, line).stdout == "wanted chromium-headless-shell\n"
    assert run(machine, line).stdout == ""


def test_a_wanted_package_that_is_there_is_left_alone(machine: Path) -> None:
    add_program(machine, "apt-get", 'echo called >> "$TMPDIR/calls"')
    add_program(machine, "pkg-config", '[[ $* == "--exists libdpdk" || $* == "--exists libssl" ]]')
    assert run(machine, f"install_wanted {machine}/tried native lab").returncode == 0
    assert not (machine / "calls").exists()
    assert not (machine / "tried").exists()


def test_services_are_held_off_only_while_installing(machine: Path) -> None:
    policy = machine / "policy-rc.d"
    add_program(machine, "apt-get", f'[[ $1 == update ]] || {policy}; echo "answer $?" >&2; exit 7')
    library = (machine / "lib" / "packages.sh").read_text()
    (machine / "lib" / "packages.sh").write_text(
        library.replace("/usr/sbin/policy-rc.d", str(policy))
    )
    add_program(machine, "chmod", f'exec {shutil.which("chmod")} "$@"')
    result = run(machine, "apt_install openssh-server")
    assert result.returncode == 7
    assert "answer 101" in result.stderr
    assert not policy.exists()
