"""The MPI clients' parts: program, SSH files, command lines and settings."""

from __future__ import annotations

import ipaddress
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.local_sessions import LocalSession
from plink.base.errors import PlinkError
from plink.bench.algorithms import ALGORITHMS_OF, full_name
from plink.bench.clients import mpich, openmpi
from plink.bench.clients.flavour import LaunchPlan, NetworkPlan
from plink.bench.clients.mpi_program import MpiProgram, compile_program, find_tool, install
from plink.deploy.remote.ssh_files import SshFiles
from plink.files.cluster import Host
from probes.errors import HostError
from probes.ssh.upload import Program
from solvers.collectives.registry import find

NETWORK = NetworkPlan(["10.0.0.1", "10.0.0.6"], ["eth0"], "192.168.7.1", shares_machines=False)


def put(program: MpiProgram, helper: str = "sh") -> None:
    session: object = LocalSession("h1")
    install(session, program, helper, "Some MPI", "some-mpi")  # type: ignore[arg-type]


@pytest.mark.needs("mpi")
@pytest.mark.parametrize("compiler", ["mpicc.openmpi", "mpicc.mpich"])
def test_the_program_is_compiled_and_stored_once_under_its_hash(
    compiler: str, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    folder = tmp_path / "it's a cache"
    program = compile_program(compiler, tmp_path, str(folder))
    put(program)
    stored = folder / program.executable.file_name
    assert stored.read_bytes() == program.executable.content
    assert stored.stat().st_mode & 0o777 == 0o700
    before = stored.stat().st_ino
    put(program)
    assert stored.stat().st_ino == before
    assert [file.name for file in folder.iterdir()] == [stored.name]
    assert compile_program(compiler, tmp_path, None).executable == program.executable
    assert subprocess.run(program.command([]), check=False).returncode == 2


def test_a_host_without_the_client_is_named_with_its_packages() -> None:
    with pytest.raises(HostError, match="Some MPI is not installed there") as caught:
        put(MpiProgram(Program("x", b""), None), helper="no-such-helper")
    assert caught.value.host == "h1"
    assert caught.value.hint == "install some-mpi on every host"


def test_a_program_without_its_library_means_that_the_client_is_missing(tmp_path: Path) -> None:
    text = b"#!/bin/sh\necho x: error while loading shared libraries: libmpi.so.40 >&2; exit 127\n"
    with pytest.raises(HostError, match=r"Some MPI is not installed there .*libmpi\.so\.40"):
        put(MpiProgram(Program("x", text), str(tmp_path)))


@pytest.mark.parametrize(
    ("content", "folder"),
    [(b"#!/bin/sh\nexit 0\n", "/dev/null/cache"), (b"#!/nowhere/sh\n", None)],
)
def test_a_folder_that_takes_no_program(content: bytes, folder: str | None, tmp_path: Path) -> None:
    with pytest.raises(HostError, match="x cannot be put there") as caught:
        put(MpiProgram(Program("x", content), folder or str(tmp_path)))
    assert "--remote-cache" in (caught.value.hint or "")


def test_tools_that_are_missing_here() -> None:
    assert find_tool(None, ["no-such-tool", "sh"], "Some MPI", "some-mpi") == "sh"
    with pytest.raises(PlinkError, match="no no-such-tool and neither-this"):
        find_tool(None, ["no-such-tool", "neither-this"], "Some MPI", "some-mpi")
    with pytest.raises(PlinkError, match="no mine"):
        find_tool("mine", ["sh"], "Some MPI", "some-mpi")


def test_open_mpi_keeps_to_the_traffic_network_and_to_the_algorithm() -> None:
    settings = openmpi.settings(NETWORK, "ring")
    assert settings["btl_tcp_if_include"] == "eth0"
    assert settings["oob_tcp_if_include"] == "10.0.0.0/29,192.168.7.1/32"
    assert settings["coll_tuned_allreduce_algorithm"] == "4"
    assert "mpi_yield_when_idle" not in settings
    assert "coll_tuned_allreduce_algorithm_segmentsize" not in settings
    segmented = openmpi.settings(NETWORK, "segmented-ring")
    assert segmented["coll_tuned_allreduce_algorithm_segmentsize"] == str(1 << 20)


def test_mpich_keeps_to_the_traffic_network_and_to_the_algorithm() -> None:
    settings = mpich.settings(NETWORK, "ring")
    assert settings["UCX_NET_DEVICES"] == settings["FI_TCP_IFACE"] == "eth0"
    assert settings["MPIR_CVAR_IALLREDUCE_INTRA_ALGORITHM"] == "tsp_ring"
    assert settings["MPIR_CVAR_COLLECTIVE_FALLBACK"] == "error"
    assert "UCX_RNDV_THRESH" not in settings


@pytest.mark.parametrize(
    ("client", "algorithm"),
    [(client, algorithm) for client, names in ALGORITHMS_OF.items() for algorithm in names],
)
def test_every_algorithm_can_be_forced_and_predicted(client: str, algorithm: str) -> None:
    assert find(full_name(client, algorithm)).refusal(16) is None
    flavours = {"openmpi": openmpi.settings, "mpich": mpich.settings}
    if client in flavours:
        others = [flavours[client](NETWORK, name) for name in ALGORITHMS_OF[client]]
        assert others.count(flavours[client](NETWORK, algorithm)) == 1


def test_open_mpi_is_not_let_loose_on_every_network() -> None:
    distant = replace(NETWORK, addresses=["192.168.0.2", "10.0.0.1", "10.0.0.2"])
    with pytest.raises(PlinkError, match=r"10\.0\.0\.1 and 192\.168\.0\.2 .* than 0\.0\.0\.0/0"):
        openmpi.settings(distant, "ring")
    wide = replace(NETWORK, addresses=["10.0.0.1", "10.200.0.1"])
    assert openmpi.settings(wide, "ring")["oob_tcp_if_include"].startswith("10.0.0.0/8,")


def test_open_mpi_reaches_every_host_from_here(tmp_path: Path) -> None:
    plan = LaunchPlan(
        launcher="mpirun",
        folder=tmp_path,
        ssh=SshFiles(tmp_path / "ssh_config", tmp_path / "ssh"),
        hosts=[Host("a", "10.0.0.1"), Host("b", "10.0.0.6")],
        local_address="192.168.7.1",
        settings={},
        program=["true"],
    )
    command = " ".join(openmpi.command(plan))
    assert "--mca plm_rsh_no_tree_spawn 1" in command
    assert f"--mca plm_rsh_agent ssh -F {tmp_path}/ssh_config" in command


@given(st.lists(st.ip_addresses(v=4).map(str), min_size=1, max_size=8))
def test_the_covering_network_is_the_smallest(addresses: list[str]) -> None:
    network = openmpi.covering_network(addresses)
    parsed = [ipaddress.ip_address(address) for address in addresses]
    assert all(address in network for address in parsed)
    if network.num_addresses > 1:
        halves = network.subnets()
        assert not any(all(address in half for address in parsed) for half in halves)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/\n", "4.1.4"),
        ("mpirun.openmpi (OpenRTE) 4.0.3\n", "4.0.3"),
    ],
)
def test_open_mpi_4_is_known(text: str, version: str) -> None:
    assert openmpi.version_of(text) == version


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("mpirun (Open MPI) 5.0.3\n", "the launcher is of 5.0.3"), ("HYDRA", "not Open MPI's")],
)
def test_another_mpirun_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(PlinkError, match=complaint):
        openmpi.version_of(text)


def test_only_hydra_is_mpichs() -> None:
    assert mpich.version_of("HYDRA build details:\n    Version:        4.0.2\n") == "4.0.2"
    with pytest.raises(PlinkError, match="not MPICH's Hydra"):
        mpich.version_of("mpirun (Open MPI) 4.1.4")
