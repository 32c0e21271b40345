"""Open MPI 4: `mpirun` with the sequential mapper, TCP, and the algorithm forced in `tuned`."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from plink.base.errors import PlinkError
from plink.bench.clients.flavour import Flavour, LaunchPlan, NetworkPlan
from plink.deploy.launchers import FORMATS

# A shorter prefix takes in loopback, or much else that is not the traffic network.
_LEAST_PREFIX = 8

# coll/tuned's numbers of its allreduce algorithms.
_ALGORITHMS = {"recursive-doubling": 3, "ring": 4, "segmented-ring": 5, "rabenseifner": 6}

# What the library's own decision would pass; a forced algorithm gets none by itself.
_SEGMENT_BYTES = {"segmented-ring": 1 << 20}


def command(plan: LaunchPlan) -> list[str]:
    """The command line of `mpirun`; writes its host file."""
    hostfile = plan.folder / "hostfile"
    hostfile.write_text(FORMATS["openmpi"].render(plan.hosts))
    parameters = {
        "plm_rsh_agent": f"ssh -F {plan.ssh.config}",
        # Above 64 hosts it would start others from the hosts, which lack this configuration.
        "plm_rsh_no_tree_spawn": "1",
        "rmaps": "seq",
        **plan.settings,
    }
    options = [word for name, value in parameters.items() for word in ("--mca", name, value)]
    return [
        plan.launcher,
        "--allow-run-as-root",
        *("--hostfile", str(hostfile)),
        *("-np", str(len(plan.hosts))),
        *("--bind-to", "none"),
        *options,
        *plan.program,
    ]


def settings(network: NetworkPlan, algorithm: str) -> dict[str, str]:
    """The MCA parameters that choose network and algorithm.

    Raises:
        PlinkError: no network holds the hosts' addresses and little else.
    """
    covering = covering_network(network.addresses)
    if covering.prefixlen < _LEAST_PREFIX:
        low, high = min(network.addresses, key=_number), max(network.addresses, key=_number)
        raise PlinkError(
            f"Open MPI is told one network for all hosts, and {low} and {high} have none in "
            f"common that is smaller than {covering}",
            "give the hosts traffic addresses in one network (plink probe --network)",
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
        "coll_tuned_allreduce_algorithm": str(_ALGORITHMS[algorithm]),
    }
    if algorithm in _SEGMENT_BYTES:
        chosen["coll_tuned_allreduce_algorithm_segmentsize"] = str(_SEGMENT_BYTES[algorithm])
    if network.shares_machines:
        # A rank that waits must not take the CPU from the rank that it waits for.
        chosen["mpi_yield_when_idle"] = "1"
    return chosen


def version_of(text: str) -> str:
    """The version in `mpirun --version`.

    Raises:
        PlinkError: another MPI, or another generation, whose switches are different.
    """
    match = re.search(r"\((?:Open MPI|OpenRTE)\) (\d+)\.([\d.]+)", text)
    if match is None:
        raise PlinkError(
            f"the launcher is not Open MPI's: {text[:60]!r}", "name Open MPI's with --mpirun"
        )
    version = f"{match[1]}.{match[2]}"
    if match[1] != "4":
        raise PlinkError(
            f"plink bench drives Open MPI 4, and the launcher is of {version}",
            "name the tools of an Open MPI 4 with --mpirun and --mpicc",
        )
    return version


def _number(address: str) -> int:
    return int(ipaddress.ip_address(address))


def covering_network(
    addresses: Sequence[str],
) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """The smallest network with all of `addresses`, which are of one family.

    Raises:
        PlinkError: they are not.
    """
    parsed = [ipaddress.ip_address(address) for address in addresses]
    if len({address.version for address in parsed}) != 1:
        raise PlinkError("the hosts' traffic addresses are partly IPv4 and partly IPv6")
    low, high = min(map(int, parsed)), max(map(int, parsed))
    prefix = parsed[0].max_prefixlen - (low ^ high).bit_length()
    return ipaddress.ip_network(f"{parsed[0]}/{prefix}", strict=False)


FLAVOUR = Flavour(
    title="Open MPI",
    compilers=("mpicc.openmpi", "mpicc"),
    launchers=("mpirun.openmpi", "mpirun"),
    helper="orted",
    packages="openmpi-bin and libopenmpi-dev",
    command=command,
    settings=settings,
    version_of=version_of,
)
