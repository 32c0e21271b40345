"""The environments that launchers make, and which addresses a group takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from plink.base.errors import WrongUseError
from plink.engine.interfaces import group_addresses, host_addresses
from pytorch import work_checks
from pytorch.processes import results
from support.require import require_launcher

pytestmark = pytest.mark.timing

PROGRAM = Path(__file__).with_name("launched_program.py")
END_TIMEOUT_S = 180


def test_torchrun(tmp_path: Path) -> None:
    """Its agent keeps the store, and each rank learns who it is from the environment."""
    result = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--local-addr", "127.0.0.1", "--nproc-per-node", "2", f"--log-dir={tmp_path}"),
            str(PROGRAM),
        ],
        capture_output=True,
        text=True,
        timeout=END_TIMEOUT_S,
        cwd="/",
        check=False,
    )
    assert result.stdout.count("sum 3 of 2") == 2, result.stderr


@pytest.mark.needs("mpi")
@pytest.mark.parametrize(
    ("launcher", "variables"),
    [("mpirun.openmpi", "OMPI_COMM_WORLD"), ("mpiexec.hydra", "PMI")],
)
def test_launchers_of_mpi(launcher: str, variables: str, tmp_path: Path) -> None:
    """Their names for rank and number of ranks are translated by a line of shell."""
    require_launcher(launcher)
    line = f'RANK=${variables}_RANK WORLD_SIZE=${variables}_SIZE exec sh -c "$0"'
    # Files: Hydra may lose what processes print that end at once.
    program = f"printenv RANK WORLD_SIZE >{tmp_path}/$RANK"
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    result = subprocess.run(
        [launcher, "-n", "2", "sh", "-c", line, program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=END_TIMEOUT_S,
        env={**os.environ, **root, "OMPI_MCA_rmaps_base_oversubscribe": "1"},
        cwd="/",
        check=False,
    )
    printed = {path.name: path.read_text().split() for path in tmp_path.iterdir()}
    assert printed == {"0": ["0", "2"], "1": ["1", "2"]}, result.stderr


def test_interfaces_that_the_user_names() -> None:
    store = SimpleNamespace(host="192.0.2.7")
    for variable in ("PLINK_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
        assert group_addresses(store, {variable: "lo"}) == (["lo"], ["127.0.0.1"])
    assert group_addresses(store, {"PLINK_SOCKET_IFNAME": "lo", "GLOO_SOCKET_IFNAME": "x"})[0] == [
        "lo"
    ]
    with pytest.raises(WrongUseError, match="GLOO_SOCKET_IFNAME names x, which has no address"):
        group_addresses(store, {"GLOO_SOCKET_IFNAME": "x"})


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.1.1"])
def test_a_master_on_loopback_is_reached_by_loopback(host: str) -> None:
    prefixed = SimpleNamespace(underlying_store=SimpleNamespace(host=host))
    names, addresses = group_addresses(prefixed, {})
    assert names == []
    assert addresses[0].startswith("127.")


def test_without_a_master_any_address_of_the_host_is_taken() -> None:
    _, addresses = group_addresses(SimpleNamespace(), {})
    assert addresses[0] in {one for them in host_addresses().values() for one in them}


def test_memory_is_not_shared_where_the_environment_says_so(tmp_path: Path) -> None:
    check = work_checks.with_whom_memory_is_shared
    (tmp_path / "wrong").mkdir()
    assert results(check, 2, tmp_path, environment={"PLINK_SHARED_MEMORY": "0"}) == [[], []]
    said = results(check, 1, tmp_path / "wrong", environment={"PLINK_SHARED_MEMORY": "no"})
    assert "PLINK_SHARED_MEMORY is no, expected 0 or 1" in said[0]
