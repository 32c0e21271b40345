"""JAX: what `jax.distributed.initialize` is told, as one environment per process.

JAX reads JAX_COORDINATOR_ADDRESS itself (jax/_src/distributed.py); the program passes the two
others on, as `process_id` and `num_processes`. Under Slurm they must be passed too, because JAX
would take the first host of the node list for the coordinator.
"""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.env import USAGE, line
from plink.deploy.launchers.format import Format, places
from plink.deploy.launchers.names import MASTER_PORT, check_names, master_address
from plink.files.cluster import Host

_LAUNCHER = "JAX"


def render(hosts: Sequence[Host]) -> str:
    """One line per process: the host's name, then assignments for a shell on that host."""
    check_names(hosts, _LAUNCHER)
    address = master_address(hosts, _LAUNCHER)
    coordinator = f"[{address}]" if ":" in address else address
    processes = sum(host.slots for host in hosts)
    return "".join(
        line(
            place,
            [
                f"JAX_COORDINATOR_ADDRESS={coordinator}:{MASTER_PORT}",
                f"JAX_NUM_PROCESSES={processes}",
                f"JAX_PROCESS_ID={place.rank}",
            ],
        )
        for place in places(hosts)
    )


FORMAT = Format(
    name="jax",
    about="JAX: one environment a process (coordinator address, process id, processes)",
    usage=USAGE,
    render=render,
)
