"""MPICH: Hydra's `mpiexec`, TCP, and the algorithm forced by control variables."""

from __future__ import annotations

from plink.bench.clients.mpi import Flavour, LaunchPlan
from plink.errors import PlinkError

# MPICH 4.0 knows no blocking ring: its blocking allreduce is told to run the non-blocking one,
# which has a ring. A name that a version does not know makes MPI_Init fail, aloud.
_ALGORITHMS = {
    "ring": {
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "nb",
        "MPIR_CVAR_IALLREDUCE_INTRA_ALGORITHM": "tsp_ring",
    },
}


def command(plan: LaunchPlan) -> list[str]:
    """The command line of `mpiexec`; writes its host file."""
    hostfile = plan.folder / "hostfile"
    hostfile.write_text("".join(f"{host.name}:1\n" for host in plan.hosts))
    settings = {
        **_ALGORITHMS[plan.workload.algorithm],
        "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
        "MPIR_CVAR_COLLECTIVE_FALLBACK": "error",
        # Hosts that share a kernel would otherwise be joined through its shared memory.
        "UCX_TLS": "tcp,self",
    }
    if plan.interfaces:
        settings["UCX_NET_DEVICES"] = ",".join(plan.interfaces)
    if len(plan.interfaces) == 1:
        settings["FI_TCP_IFACE"] = plan.interfaces[0]
    environment = [word for name, value in settings.items() for word in ("-genv", name, value)]
    return [
        plan.launcher,
        *("-f", str(plan.folder / "hostfile")),
        *("-n", str(len(plan.hosts))),
        *("-launcher", "ssh"),
        *("-launcher-exec", str(plan.ssh.wrapper)),
        *("-localhost", plan.local_address),
        # The hosts' own environment, HOME above all, not this machine's.
        "-genvnone",
        *environment,
        *plan.program,
    ]


def check_version(text: str) -> None:
    """Refuse a launcher that is not Hydra.

    Raises:
        PlinkError: it is another MPI's.
    """
    if "HYDRA" not in text:
        raise PlinkError(
            f"the launcher is not MPICH's Hydra: {text[:60]!r}", "name MPICH's with --mpirun"
        )


FLAVOUR = Flavour(
    title="MPICH",
    compilers=("mpicc.mpich", "mpicc"),
    launchers=("mpiexec.mpich", "mpiexec.hydra", "mpiexec"),
    helper="hydra_pmi_proxy",
    packages="mpich and libmpich-dev",
    command=command,
    check_version=check_version,
)
