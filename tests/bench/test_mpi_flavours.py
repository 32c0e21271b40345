"""The differences between MPIs: settings, command lines and versions."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.bench.clients.mpi_flavours import (
    FLAVOURS,
    LauncherJob,
    TrafficNetwork,
    covering_network,
    mpich_settings,
    mpich_version,
    openmpi_command,
    openmpi_settings,
    openmpi_version,
)
from plink.bench.request import ALGORITHMS_OF, full_name
from plink.formats.hosts import Host
from plink.solvers.collectives.registry import find

NETWORK = TrafficNetwork(["10.0.0.1", "10.0.0.6"], ["eth0"], "192.168.7.1", shares_machines=False)


def test_open_mpi_keeps_to_the_traffic_network_and_to_the_algorithm() -> None:
    settings = openmpi_settings(NETWORK, "ring")
    assert settings["btl_tcp_if_include"] == "eth0"
    assert settings["oob_tcp_if_include"] == "10.0.0.0/29,192.168.7.1/32"
    assert settings["coll_tuned_allreduce_algorithm"] == "4"
    assert "mpi_yield_when_idle" not in settings
    assert "coll_tuned_allreduce_algorithm_segmentsize" not in settings
    segmented = openmpi_settings(NETWORK, "segmented-ring")
    assert segmented["coll_tuned_allreduce_algorithm_segmentsize"] == str(1 << 20)


def test_mpich_keeps_to_the_traffic_network_and_to_the_algorithm() -> None:
    settings = mpich_settings(NETWORK, "ring")
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
    if client in FLAVOURS:
        settings = FLAVOURS[client].settings
        others = [settings(NETWORK, name) for name in ALGORITHMS_OF[client]]
        assert others.count(settings(NETWORK, algorithm)) == 1


def test_open_mpi_is_not_let_loose_on_every_network() -> None:
    distant = replace(NETWORK, addresses=["192.168.0.2", "10.0.0.1", "10.0.0.2"])
    with pytest.raises(PlinkError, match=r"10\.0\.0\.1 and 192\.168\.0\.2 is 0\.0\.0\.0/0"):
        openmpi_settings(distant, "ring")
    wide = replace(NETWORK, addresses=["10.0.0.1", "10.200.0.1"])
    assert openmpi_settings(wide, "ring")["oob_tcp_if_include"].startswith("10.0.0.0/8,")


def test_open_mpi_reaches_every_host_from_here(tmp_path: Path) -> None:
    job = LauncherJob(
        launcher="mpirun",
        folder=tmp_path,
        remote_shell=tmp_path / "ssh",
        hosts=[Host("a", "10.0.0.1"), Host("b", "10.0.0.6")],
        local_address="192.168.7.1",
        settings={},
        program=["true"],
    )
    command = " ".join(openmpi_command(job))
    assert "--mca plm_rsh_no_tree_spawn 1" in command
    assert f"--mca plm_rsh_agent {tmp_path}/ssh" in command


@given(st.lists(st.ip_addresses(v=4).map(str), min_size=1, max_size=8))
def test_the_covering_network_is_the_smallest(addresses: list[str]) -> None:
    network = covering_network(addresses)
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
    assert openmpi_version(text) == version


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("mpirun (Open MPI) 5.0.3\n", "the launcher is of 5.0.3"), ("HYDRA", "not Open MPI's")],
)
def test_another_mpirun_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(PlinkError, match=complaint):
        openmpi_version(text)


def test_only_hydra_is_mpichs() -> None:
    assert mpich_version("HYDRA build details:\n    Version:        4.0.2\n") == "4.0.2"
    with pytest.raises(PlinkError, match="not MPICH's Hydra"):
        mpich_version("mpirun (Open MPI) 4.1.4")
