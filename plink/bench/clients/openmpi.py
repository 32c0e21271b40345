"""Open MPI 4: `mpirun` with the sequential mapper, TCP, and the algorithm forced in `tuned`."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from plink.bench.clients.mpi import Flavour, LaunchPlan
from plink.errors import PlinkError

# coll/tuned's numbers of its allreduce algorithms.
_ALGORITHMS = {"ring": 4}


def command(plan: LaunchPlan) -> list[str]:
    """The command line of `mpirun`; writes its host file."""
    hostfile = plan.folder / "hostfile"
    # One line a rank, mapped one after the other: a plain host file would not be an ordered list.
    hostfile.write_text("".join(f"{host.name}\n" for host in plan.hosts))
    network = covering_network([host.address for host in plan.hosts])
    local = ipaddress.ip_address(plan.local_address)
    control = str(network) if local in network else f"{network},{local}/{local.max_prefixlen}"
    settings = {
        "plm_rsh_agent": f"ssh -F {plan.ssh.config}",
        "rmaps": "seq",
        "orte_keep_fqdn_hostnames": "1",
        "pml": "ob1",
        "btl": "tcp,self",
        "btl_tcp_if_include": (
            plan.interfaces[0] if len(plan.interfaces) == 1 else str(network)
        ),
        "oob_tcp_if_include": control,
        # `tuned` obeys the two settings below, so it must be the component that is asked.
        "coll_tuned_priority": "100",
        "coll_tuned_use_dynamic_rules": "1",
        "coll_tuned_allreduce_algorithm": str(_ALGORITHMS[plan.workload.algorithm]),
    }
    if plan.shares_kernel:
        settings["mpi_yield_when_idle"] = "1"
    options = [word for name, value in settings.items() for word in ("--mca", name, value)]
    return [
        plan.launcher,
        "--allow-run-as-root",
        *("--hostfile", str(hostfile)),
        *("-n", str(len(plan.hosts))),
        *("--bind-to", "none"),
        *options,
        *plan.program,
    ]


def check_version(text: str) -> None:
    """Refuse what is not Open MPI 4.

    Raises:
        PlinkError: another MPI, or another generation, whose switches are different.
    """
    match = re.search(r"\((?:Open MPI|OpenRTE)\) (\d+)\.", text)
    if match is None:
        raise PlinkError(
            f"the launcher is not Open MPI's: {text[:60]!r}", "name Open MPI's with --mpirun"
        )
    if match[1] != "4":
        raise PlinkError(
            f"plink bench drives Open MPI 4, and this is {match[1]}",
            "name the tools of an Open MPI 4 with --mpirun and --mpicc",
        )


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
    check_version=check_version,
)
