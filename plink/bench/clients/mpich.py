"""MPICH: Hydra's `mpiexec`, TCP, and the algorithm forced by control variables."""

from __future__ import annotations

import re

from plink.base.errors import PlinkError
from plink.bench.clients.flavour import Flavour, LaunchPlan, NetworkPlan
from plink.deploy.launchers import FORMATS

# MPICH 4.0 knows no blocking ring: its blocking allreduce is told to run the non-blocking one,
# which has a ring. A name that a version does not know makes MPI_Init fail, aloud.
_ALGORITHMS = {
    "ring": {
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "nb",
        "MPIR_CVAR_IALLREDUCE_INTRA_ALGORITHM": "tsp_ring",
    },
    "recursive-doubling": {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "recursive_doubling"},
    "reduce-scatter-allgather": {
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "reduce_scatter_allgather",
    },
}


def command(plan: LaunchPlan) -> list[str]:
    """The command line of `mpiexec`; writes its host file."""
    hostfile = plan.folder / "hostfile"
    hostfile.write_text(FORMATS["mpich"].render(plan.hosts))
    environment = [word for name, value in plan.settings.items() for word in ("-genv", name, value)]
    return [
        plan.launcher,
        *("-f", str(hostfile)),
        *("-n", str(len(plan.hosts))),
        *("-launcher", "ssh"),
        *("-launcher-exec", str(plan.ssh.wrapper)),
        *("-localhost", plan.local_address),
        # The hosts' own environment, HOME above all, not this machine's.
        "-genvnone",
        *environment,
        *plan.program,
    ]


def settings(network: NetworkPlan, algorithm: str) -> dict[str, str]:
    """The environment variables that choose network and algorithm."""
    chosen = {
        **_ALGORITHMS[algorithm],
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


def version_of(text: str) -> str:
    """The version in `mpiexec --version`.

    Raises:
        PlinkError: the launcher is not Hydra.
    """
    match = re.search(r"HYDRA build details:\s+Version:\s+([\w.]+)", text)
    if match is None:
        raise PlinkError(
            f"the launcher is not MPICH's Hydra: {text[:60]!r}", "name MPICH's with --mpirun"
        )
    return match[1]


FLAVOUR = Flavour(
    title="MPICH",
    compilers=("mpicc.mpich", "mpicc"),
    launchers=("mpiexec.mpich", "mpiexec.hydra", "mpiexec"),
    helper="hydra_pmi_proxy",
    packages="mpich and libmpich-dev",
    command=command,
    settings=settings,
    version_of=version_of,
)
