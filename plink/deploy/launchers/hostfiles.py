"""Host files with one line per host in rank order: name and number of ranks.

MPICH's launcher Hydra fills hosts in file order. Intel MPI's `-machinefile` keeps names that come
twice, its `-f` does not; within a job of a batch system it takes the placement from there unless
I_MPI_JOB_RESPECT_PROCESS_PLACEMENT is off.

In Horovod's file (horovod/runner/common/util/hosts.py), blank lines and comments crash the parser,
and a name may have letters, digits, dots, hyphens and underscores. Its usage has `--gloo` because
over MPI Horovod hands the hosts to `mpirun -H`, which does not keep their order. DeepSpeed's rank
of a host is its position in the file (deepspeed/launcher/runner.py), whatever --include leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.format import Format
from plink.deploy.launchers.names import check_names
from plink.formats.hosts import Host


def render_names(hosts: Sequence[Host]) -> str:
    """Return a host file with each host's name once, in rank order, without slots."""
    check_names(hosts, "a list of names")
    return "".join(f"{host.name}\n" for host in hosts)


def render_mpich(hosts: Sequence[Host]) -> str:
    """Return MPICH's host file: `host:ranks` per line."""
    return _with_ranks(hosts, "MPICH")


def render_intelmpi(hosts: Sequence[Host]) -> str:
    """Return Intel MPI's host file: `host:ranks` per line."""
    return _with_ranks(hosts, "Intel MPI")


def render_horovod(hosts: Sequence[Host]) -> str:
    """Return Horovod's host file: `host slots=N` per line."""
    return _with_slots(hosts, "Horovod")


def render_deepspeed(hosts: Sequence[Host]) -> str:
    """Return DeepSpeed's host file: `host slots=N` per line."""
    return _with_slots(hosts, "DeepSpeed")


def _with_ranks(hosts: Sequence[Host], launcher: str) -> str:
    # An IPv6 address is refused: its colons would count ranks.
    check_names(hosts, launcher, ipv6=False)
    return "".join(f"{host.name}:{host.slots}\n" for host in hosts)


def _with_slots(hosts: Sequence[Host], launcher: str) -> str:
    # An IPv6 address is refused: Horovod puts `:slots` behind a name, and DeepSpeed's --include
    # separates names by colons.
    check_names(hosts, launcher, ipv6=False)
    return "".join(f"{host.name} slots={host.slots}\n" for host in hosts)


NAMES = Format(
    name="hosts",
    about="names, one per line, each host once",
    usage='while read -r host; do ssh -n "$host" hostname; done < FILE',
    render=render_names,
    adjacent_because="it lists every host once",
)
MPICH = Format(
    name="mpich",
    about="MPICH (Hydra): host file with ranks per host",
    usage="mpiexec -n RANKS -f FILE PROGRAM",
    render=render_mpich,
)
INTEL_MPI = Format(
    name="intelmpi",
    about="Intel MPI: machine file with ranks per host",
    usage="I_MPI_JOB_RESPECT_PROCESS_PLACEMENT=off mpirun -n RANKS -machinefile FILE PROGRAM",
    render=render_intelmpi,
)
HOROVOD = Format(
    name="horovod",
    about="Horovod: host file with slots",
    usage="horovodrun --gloo -np RANKS --hostfile FILE python SCRIPT",
    render=render_horovod,
    adjacent_because="Horovod takes a host once",
)
DEEPSPEED = Format(
    name="deepspeed",
    about="DeepSpeed: host file with slots",
    usage="deepspeed --hostfile FILE SCRIPT",
    render=render_deepspeed,
    adjacent_because="DeepSpeed takes a host once",
)
