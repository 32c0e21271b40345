"""Differences between MPI implementations: Open MPI 4 and MPICH with Hydra."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from plink.base.errors import PlinkError
from plink.deploy.launchers import FORMATS
from plink.formats.hosts import Host

# A shorter prefix takes in loopback, or much else that is not the traffic network.
_LEAST_PREFIX = 8

# coll/tuned's numbers of its allreduce algorithms.
_OPENMPI_ALGORITHMS = {"recursive-doubling": 3, "ring": 4, "segmented-ring": 5, "rabenseifner": 6}

# What the library's own decision would pass; a forced algorithm gets none by itself.
_SEGMENT_BYTES = {"segmented-ring": 1 << 20}

# MPICH 4.0 knows no blocking ring: its blocking allreduce is made to run the non-blocking one,
# which has a ring. A name that a version does not know makes MPI_Init fail, aloud.
_MPICH_ALGORITHMS = {
    "ring": {
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "nb",
        "MPIR_CVAR_IALLREDUCE_INTRA_ALGORITHM": "tsp_ring",
    },
    "recursive-doubling": {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "recursive_doubling"},
    "reduce-scatter-allgather": {
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "reduce_scatter_allgather",
    },
}


@dataclass(frozen=True)
class TrafficNetwork:
    """Facts with which a client keeps to the traffic network.

    Args:
        addresses: the hosts' traffic addresses.
        interfaces: the names of the network interfaces that bear them, without repetition; empty
            where a host does not tell.
        local_address: this machine's address that the hosts can reach.
        shares_machines: several hosts are one machine and share its CPU.
    """

    addresses: Sequence[str]
    interfaces: Sequence[str]
    local_address: str
    shares_machines: bool


@dataclass(frozen=True)
class LauncherJob:
    """All that a launcher's command line depends on.

    Args:
        launcher: the launcher program.
        folder: where host files may be written.
        remote_shell: the program with which the launcher reaches hosts, called as `ssh` is.
        hosts: the hosts in rank order, one rank each.
        local_address: this machine's address that the hosts can reach.
        settings: the client's switches.
        program: the command that every rank runs.
    """

    launcher: str
    folder: Path
    remote_shell: Path
    hosts: Sequence[Host]
    local_address: str
    settings: Mapping[str, str]
    program: Sequence[str]


@dataclass(frozen=True)
class Flavour:
    """Properties of one MPI implementation.

    Args:
        title: its name as people write it.
        compilers: compiler wrappers to look for.
        launchers: launchers to look for.
        helper: the program that the launcher starts on each host.
        packages: Debian's packages with all of these.
        settings: network and algorithm to the client's switches.
        command: the launcher's command line.
        version_of: the version in the launcher's version text; raises `PlinkError` for a launcher
            that it does not know.
    """

    title: str
    compilers: Sequence[str]
    launchers: Sequence[str]
    helper: str
    packages: str
    settings: Callable[[TrafficNetwork, str], dict[str, str]]
    command: Callable[[LauncherJob], list[str]]
    version_of: Callable[[str], str]


def openmpi_command(job: LauncherJob) -> list[str]:
    """The command line of Open MPI's `mpirun` with the sequential mapper; writes its host file."""
    hostfile = job.folder / "hostfile"
    hostfile.write_text(FORMATS["openmpi"].render(job.hosts))
    parameters = {
        "plm_rsh_agent": str(job.remote_shell),
        # Above 64 hosts it would start others from the hosts, which lack this configuration.
        "plm_rsh_no_tree_spawn": "1",
        "rmaps": "seq",
        **job.settings,
    }
    options = [word for name, value in parameters.items() for word in ("--mca", name, value)]
    return [
        job.launcher,
        "--allow-run-as-root",
        *("--hostfile", str(hostfile)),
        *("-np", str(len(job.hosts))),
        *("--bind-to", "none"),
        *options,
        *job.program,
    ]


def openmpi_settings(network: TrafficNetwork, algorithm: str) -> dict[str, str]:
    """Return the MCA parameters that choose TCP, the network and the algorithm of `tuned`.

    Raises:
        PlinkError: no network holds the hosts' addresses and little else.
    """
    covering = covering_network(network.addresses)
    if covering.prefixlen < _LEAST_PREFIX:
        low, high = min(network.addresses, key=_number), max(network.addresses, key=_number)
        raise PlinkError(
            f"Open MPI takes one network for all hosts, and the smallest one with {low} and "
            f"{high} is {covering}",
            "probe the hosts again with addresses that are in one network",
        )
    local = ipaddress.ip_address(network.local_address)
    control = str(covering) if local in covering else f"{covering},{local}/{local.max_prefixlen}"
    interfaces = network.interfaces
    chosen = {
        "pml": "ob1",
        "btl": "tcp,self",
        "btl_tcp_if_include": interfaces[0] if len(interfaces) == 1 else str(covering),
        "oob_tcp_if_include": control,
        # `tuned` obeys the two settings below, so it must be the component that is asked.
        "coll_tuned_priority": "100",
        "coll_tuned_use_dynamic_rules": "1",
        "coll_tuned_allreduce_algorithm": str(_OPENMPI_ALGORITHMS[algorithm]),
    }
    if algorithm in _SEGMENT_BYTES:
        chosen["coll_tuned_allreduce_algorithm_segmentsize"] = str(_SEGMENT_BYTES[algorithm])
    if network.shares_machines:
        # A rank that waits must not take the CPU from the rank that it waits for.
        chosen["mpi_yield_when_idle"] = "1"
    return chosen


def openmpi_version(text: str) -> str:
    """Return the version in `mpirun --version`.

    Raises:
        PlinkError: another MPI, or another generation, whose switches are different.
    """
    match = re.search(r"\((?:Open MPI|OpenRTE)\) (\d+)\.([\d.]+)", text)
    if match is None:
        raise PlinkError(
            f"the launcher is not Open MPI's: {text[:60]!r}", "name Open MPI's with --mpirun PATH"
        )
    version = f"{match[1]}.{match[2]}"
    if match[1] != "4":
        raise PlinkError(
            f"plink bench drives Open MPI 4, and the launcher is of {version}",
            "name the tools of an Open MPI 4 with --mpirun PATH and --mpicc PATH",
        )
    return version


def covering_network(
    addresses: Sequence[str],
) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Return the smallest network with all of `addresses`, which are of one family.

    Raises:
        PlinkError: they are not.
    """
    parsed = [ipaddress.ip_address(address) for address in addresses]
    if len({address.version for address in parsed}) != 1:
        raise PlinkError("the hosts' traffic addresses are partly IPv4 and partly IPv6")
    low, high = min(map(int, parsed)), max(map(int, parsed))
    prefix = parsed[0].max_prefixlen - (low ^ high).bit_length()
    return ipaddress.ip_network(f"{parsed[0]}/{prefix}", strict=False)


def _number(address: str) -> int:
    return int(ipaddress.ip_address(address))


OPENMPI = Flavour(
    title="Open MPI",
    compilers=("mpicc.openmpi", "mpicc"),
    launchers=("mpirun.openmpi", "mpirun"),
    helper="orted",
    packages="openmpi-bin and libopenmpi-dev",
    command=openmpi_command,
    settings=openmpi_settings,
    version_of=openmpi_version,
)


def mpich_command(job: LauncherJob) -> list[str]:
    """Return the command line of Hydra's `mpiexec`; writes its host file."""
    hostfile = job.folder / "hostfile"
    hostfile.write_text(FORMATS["mpich"].render(job.hosts))
    environment = [word for name, value in job.settings.items() for word in ("-genv", name, value)]
    return [
        job.launcher,
        *("-f", str(hostfile)),
        *("-n", str(len(job.hosts))),
        *("-launcher", "ssh"),
        *("-launcher-exec", str(job.remote_shell)),
        *("-localhost", job.local_address),
        # The hosts' own environment, HOME above all, not this machine's.
        "-genvnone",
        *environment,
        *job.program,
    ]


def mpich_settings(network: TrafficNetwork, algorithm: str) -> dict[str, str]:
    """Return the environment variables that choose network and algorithm."""
    chosen = {
        **_MPICH_ALGORITHMS[algorithm],
        "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
        "MPIR_CVAR_COLLECTIVE_FALLBACK": "error",
        # Hosts that share a machine would otherwise be joined through its memory.
        "UCX_TLS": "tcp,self",
    }
    if network.interfaces:
        chosen["UCX_NET_DEVICES"] = ",".join(network.interfaces)
    if len(network.interfaces) == 1:
        chosen["FI_TCP_IFACE"] = network.interfaces[0]
    if network.shares_machines:
        # Ranks of MPICH spin, and on a shared CPU an answer waits for its turn: without
        # rendezvous no transfer needs one.
        chosen["UCX_RNDV_THRESH"] = "inf"
    return chosen


def mpich_version(text: str) -> str:
    """Return the version in `mpiexec --version`.

    Raises:
        PlinkError: the launcher is not Hydra.
    """
    match = re.search(r"HYDRA build details:\s+Version:\s+([\w.]+)", text)
    if match is None:
        raise PlinkError(
            f"the launcher is not MPICH's Hydra: {text[:60]!r}", "name MPICH's with --mpirun PATH"
        )
    return match[1]


MPICH = Flavour(
    title="MPICH",
    compilers=("mpicc.mpich", "mpicc"),
    launchers=("mpiexec.mpich", "mpiexec.hydra", "mpiexec"),
    helper="hydra_pmi_proxy",
    packages="mpich and libmpich-dev",
    command=mpich_command,
    settings=mpich_settings,
    version_of=mpich_version,
)

FLAVOURS: Mapping[str, Flavour] = {"openmpi": OPENMPI, "mpich": MPICH}
