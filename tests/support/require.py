"""What a test needs of the machine, asked of the real programs; otherwise it is skipped."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from plink.probes.dpdk.tool import AGENT_FILE
from support.needs import declared

_TIMEOUT_S = 30
_TRIES = 3
_TWO_RANKS = ["2", "2"]
# Gloo's own needs of libraries that it loads are not met where a program is linked.
GLOO_LIBRARIES = ["-lgloo", "-lpthread", "-Wl,--allow-shlib-undefined"]
_PRINT_SIZE = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("%d\\n", size);
    MPI_Finalize();
    return 0;
}
"""


def require_root() -> None:
    """Only root reaches a lab's hosts from here.

    Continuous integration runs as root, and fails rather than be green without these tests.
    """
    if os.geteuid() == 0:
        return
    reason = "only root reaches the lab's hosts from here"
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}, and with CI=true nothing of the lab may be left out")
    pytest.skip(reason)


def require_namespaces() -> None:
    """Skip unless a lab may be put up: by root, or by anyone where the kernel lets all users."""
    if os.geteuid() == 0:
        return
    argv = ["unshare", "--user", "--map-root-user", "--net", "--mount", "true"]
    if subprocess.run(argv, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs root, or a kernel that lets ordinary users create namespaces")


def require_fping() -> None:
    """Skip unless fping gets answers here: before 5.2 it does only on the sockets of root."""
    declared("tools")
    if os.geteuid() == 0:
        return
    found = re.search(r"Version (\d+)\.(\d+)", _output(["fping", "--version"]))
    if found is None or (int(found[1]), int(found[2])) < (5, 2):
        pytest.skip("fping before 5.2 gets no answers without root")


def require_dpdk() -> None:
    """Skip unless the DPDK agent was built, which takes libdpdk, and may use interfaces."""
    require_root()
    if not AGENT_FILE.exists():
        pytest.skip("needs plink built where libdpdk is")


def require_iperf3() -> None:
    """Skip unless iperf3 is installed."""
    if shutil.which("iperf3") is None:
        pytest.skip("needs iperf3")


def require_scapy() -> None:
    """Skip unless this Python has scapy."""
    if importlib.util.find_spec("scapy") is None:
        pytest.skip("needs scapy")


def require_engine(name: str) -> None:
    """Skip unless this Python has `dask` with its clusters, or `ray`."""
    declared(name)
    if importlib.util.find_spec({"dask": "distributed"}.get(name, name)) is None:
        pytest.skip(f"needs {name}")


def require_fuzzer() -> None:
    """Skip unless a clang with libFuzzer is installed."""
    empty = 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }'
    if shutil.which("clang++") is None:
        pytest.skip("needs clang++")
    if _fails(["clang++", "-x", "c++", "-fsanitize=fuzzer", "-o", "/dev/null", "-"], empty):
        pytest.skip("needs clang's libFuzzer")


def require_browser() -> str:
    """The path of a headless Chromium; skip unless one is installed."""
    declared("browser")
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if (path := shutil.which(name)) is not None), None)
    if found is None:
        pytest.skip("needs chromium-headless-shell or another Chromium")
    return found


def require_gloo_headers() -> None:
    """Skip unless programs can be built with Gloo itself; torch has it inside, but no headers."""
    program = "#include <gloo/allreduce_bcube.h>\nint main() { return 0; }"
    with tempfile.TemporaryDirectory() as folder:
        argv = ["g++", "-x", "c++", "-", "-o", f"{folder}/program", *GLOO_LIBRARIES]
        if _fails(argv, program):
            pytest.skip("needs g++ and libgloo-dev")


def require_client(name: str) -> None:
    """Skip unless the bench client `gloo`, `openmpi` or `mpich` works here."""
    if name != "gloo":
        declared("mpi")
    if name == "gloo":
        why_not = None if importlib.util.find_spec("torch") else "needs torch"
    else:
        why_not = {"openmpi": why_no_openmpi, "mpich": why_no_mpich}[name]()
    if why_not is not None:
        pytest.skip(why_not)


def require_launcher(program: str) -> None:
    """Skip unless `mpirun.openmpi` or `mpiexec.hydra` starts ranks as plink expects it to."""
    declared("mpi")
    why_not = why_no_openmpi() if program == "mpirun.openmpi" else why_no_hydra(program)
    if why_not is not None:
        pytest.skip(why_not)


@functools.cache
def why_no_openmpi(launcher: str = "mpirun.openmpi") -> str | None:
    """Why there is no Open MPI 4 here, None where there is."""
    if shutil.which(launcher) is None:
        return f"needs {launcher}"
    version = _output([launcher, "--version"]).strip()
    found = re.search(r"\b(\d+)\.\d+", version)
    if found is None or found[1] != "4":
        return f"needs Open MPI 4; {launcher} --version says {version[:60]!r}"
    return None


@functools.cache
def why_no_hydra(launcher: str = "mpiexec.hydra") -> str | None:
    """Why MPICH's launcher cannot start two ranks here, None where it can."""
    if shutil.which(launcher) is None:
        return f"needs {launcher}"
    return _unless_two(launcher, ["sh", "-c", 'echo "$PMI_SIZE"'])


@functools.cache
def why_no_mpich(launcher: str = "mpiexec.mpich", compiler: str = "mpicc.mpich") -> str | None:
    """Why MPICH's ranks do not find one another here, None where they do.

    The MPICH 4.2.0 of Ubuntu 24.04 starts every rank as rank 0 of 1.
    """
    if shutil.which(compiler) is None:
        return f"needs {compiler}"
    if (why_not := why_no_hydra(launcher)) is not None:
        return why_not
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "size.c"), Path(folder, "size")
        source.write_text(_PRINT_SIZE)
        subprocess.run([compiler, "-o", program, source], check=True, capture_output=True)
        return _unless_two(launcher, [str(program)])


def _unless_two(launcher: str, argv: list[str]) -> str | None:
    """None if each of two ranks prints that there are two."""
    # On a busy machine a launcher may leave before its ranks' words have arrived.
    for _ in range(_TRIES):
        said = _output([launcher, "-n", "2", *argv])
        if said.split() == _TWO_RANKS:
            return None
    return f"needs a working MPICH; two ranks of {launcher} were told of {said.split()} ranks"


def _fails(compiler: list[str], program: str) -> bool:
    """Whether a compiler is missing or refuses a program on its standard input."""
    if shutil.which(compiler[0]) is None:
        return True
    done = subprocess.run(compiler, input=program, text=True, capture_output=True, check=False)
    return done.returncode != 0


def _output(argv: list[str]) -> str:
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return "nothing in time"
    return done.stdout or done.stderr
