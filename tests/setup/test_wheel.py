"""The wheel that was installed for the tests, on a machine that has neither compiler nor sources.

`scripts/wheels` runs this on wheels that it has made, with their dependencies as wheels.
"""

from __future__ import annotations

import getpass
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kube.pods import LIMITS, podman
from labkit.wiring import namespace
from support.bare_root import inside, make_root
from support.lab import Lab, lab_cluster
from support.needs import declared
from support.require import require_root

CHECKOUT = Path(__file__).resolve().parents[2]
# A repaired wheel and all that it needs; without it, the packages of this environment are used.
FOLDER = os.environ.get("PLINK_TEST_WHEELS")
PLACE = "/opt/plink"
TRIAL = CHECKOUT / "scripts" / "lib" / "try_wheel.py"
ENVIRONMENT = Path(sys.prefix)


@pytest.fixture(scope="module")
def built() -> Path:
    """The wheel as it was built."""
    found = [*(CHECKOUT / "build" / "wheel").glob("*.whl")]
    if len(found) != 1:
        pytest.skip("scripts/test has not built the wheel in this checkout")
    return found[0]


@pytest.fixture(scope="module")
def wheel(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel with the libraries that a machine may lack."""
    if FOLDER is not None:
        (found,) = Path(FOLDER).glob("plink_collectives-*.whl")
        return found
    pytest.importorskip("auditwheel")
    folder = tmp_path_factory.mktemp("repaired")
    programs = {**os.environ, "PATH": f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "repair", "-w", folder, built],
        env=programs,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (found,) = folder.iterdir()
    return found


def test_a_wheel_has_all_that_runs_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(built) as archive:
        members = {entry.filename: entry for entry in archive.infolist()}
    assert {"plink/py.typed", "plink/__init__.pyi"} <= set(members)
    for part in ("solvers", "engine"):
        assert [name for name in members if re.match(rf"plink/{part}/_native\..*\.so", name)]
    agent = members["plink/probes/echo/bin/plink-echo-agent"]
    assert agent.external_attr >> 16 & stat.S_IXUSR
    ends = {name.partition(".dist-info/")[2] for name in members if ".dist-info/" in name}
    assert ends == {"METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE", "RECORD"}
    assert any(name.endswith(".data/data/share/man/man1/plink.1") for name in members)
    unwanted = re.compile(r"(^|/)(tests?|__pycache__|CMakeLists\.txt|.*\.[ch]pp)(/|$)")
    # This one is compiled where SimGrid is.
    compiled_there = "plink/simulate/simgrid/"
    found = [name for name in members if unwanted.search(name)]
    assert [name for name in found if not name.startswith(compiled_there)] == []


def test_a_repaired_wheel_brings_openssl_alone(wheel: Path) -> None:
    assert re.search(r"-manylinux_2_\d+_(x86_64|aarch64)\.whl$", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        brought = [name for name in archive.namelist() if re.match(r"\w+\.libs/.", name)]
    names = {re.sub(r"-[0-9a-f]+\.so.*", "", Path(name).name) for name in brought}
    assert names == {"libssl", "libcrypto"}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Three hosts."""
    with lab_cluster(racks=1, hosts=3) as lab:
        yield lab


class Machine:
    """A bare machine, in the network of a host of the lab."""

    def __init__(self, root: Path, network: str, volumes: Sequence[str]) -> None:
        self.root = root
        self._options = [f"--network=ns:/run/netns/{network}", *LIMITS]
        self._options += [f"--volume={volume}" for volume in volumes]

    def run(self, *words: str, variables: Sequence[str] = ()) -> str:
        """What a program prints there, which has to succeed."""
        options = [*self._options, *(f"--env={variable}" for variable in variables)]
        done = podman("run", "--rm", *options, "--rootfs", str(self.root), *words, check=False)
        assert done.returncode == 0, f"{words}:\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def machine(wheel: Path, lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """The machine on which the wheel was installed, without a network but the lab's."""
    declared("containers")
    require_root()
    missing = [name for name in ("podman", "runc", "busybox") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    root = tmp_path_factory.mktemp("bare") / "root"
    python = make_root(root, shutil.which("busybox") or "")
    packages = next((ENVIRONMENT / "lib").glob("python3.*/site-packages"))
    shutil.copytree(packages / "pip", root / "pip" / "pip")
    shutil.copy(TRIAL, root / TRIAL.name)
    wheels = wheel.parent if FOLDER is None else Path(FOLDER)
    volumes = [f"{wheels}:/wheels:ro", f"{lab.dir}:{lab.dir}:ro", f"{packages}:/packages:ro"]
    machine = Machine(root, namespace(lab.name, lab.names[0]), volumes)
    machine.run(python, "-m", "venv", "--without-pip", PLACE)
    only = ["--no-deps"] if FOLDER is None else []
    pip = ["-m", "pip", "--python", f"{PLACE}/bin/python", "install", "--no-compile", "--no-index"]
    wanted = [*only, "--find-links", "/wheels", "plink-collectives"]
    machine.run(python, *pip, *wanted, variables=["PYTHONPATH=/pip"])
    if FOLDER is None:
        below = f"{PLACE}/lib/python3.{sys.version_info.minor}/site-packages/packages.pth"
        inside(root, below).write_text("/packages\n")
    return machine


@pytest.mark.lab
@pytest.mark.needs("containers")
def test_it_works_on_a_bare_machine(machine: Machine) -> None:
    assert not {"gcc", "cc", "g++", "ld"} & {path.name for path in machine.root.rglob("bin/*")}
    said = machine.run(f"{PLACE}/bin/python", f"/{TRIAL.name}")
    assert said.startswith("plink works with Python 3.")


@pytest.mark.lab
@pytest.mark.needs("containers")
def test_it_probes_from_a_bare_machine(machine: Machine, lab: Lab) -> None:
    """Without an SSH client there is no SSH configuration either: options and hosts say all."""
    addresses = re.findall(r"HostName (\S+)", lab.ssh_config.read_text())
    assert len(addresses) == len(lab.names)
    listed, out = "/root/hosts.txt", "/root/cluster.json"
    inside(machine.root, listed).write_text("\n".join(addresses))
    known_hosts = inside(machine.root, "/root/.ssh/known_hosts")
    known_hosts.parent.mkdir()
    shutil.copy(lab.dir / "known_hosts", known_hosts)
    options = ["-i", str(lab.dir / "id_ed25519"), "--user", getpass.getuser()]
    options += ["--passes", "1", "--count", "20", "-o", out]
    machine.run(f"{PLACE}/bin/plink", "probe", listed, *options)
    said = machine.run(f"{PLACE}/bin/plink", "order", out, "--format", "hosts")
    assert sorted(said.split()) == sorted(addresses)


def test_the_sdist_has_every_source_and_nothing_built(tmp_path: Path) -> None:
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.split("\0") if name and (CHECKOUT / name).exists()]
    # As a fresh clone has them, beside what somebody has built there.
    clone, out = tmp_path / "clone", tmp_path / "out"
    for name in names:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        if (CHECKOUT / name).is_symlink():
            (clone / name).symlink_to((CHECKOUT / name).readlink())
        else:
            try:
                (clone / name).hardlink_to(CHECKOUT / name)
            except OSError:  # another file system
                shutil.copy(CHECKOUT / name, clone / name)
    (clone / "probes" / "echo" / "bin").mkdir()
    (clone / "probes" / "echo" / "bin" / "plink-echo-agent").touch()
    program = (
        "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", program, out], cwd=clone, check=True)
    (file,) = out.iterdir()
    with tarfile.open(file) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    left_out = (".ci/", ".github/", ".gitignore")
    files = {name for name in names if not (CHECKOUT / name).is_symlink()}
    assert {name for name in files - found if not name.startswith(left_out)} == set()
    assert {"PKG-INFO", "plink/probes/errors.py", "plink/solvers/native.cpp"} <= found
    assert [name for name in found if name.endswith((".so", "-agent"))] == []
