"""Host files with one line per host in rank order: its name, and mostly its number of ranks.

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

from plink.deploy.launchers.format import Format, Writer, check_names
from plink.formats.hosts import Host


def _build_writer(launcher: str, line: str, *, ipv6: bool = False) -> Writer:
    """Return a function that writes a host file with a line of this form for each host.

    Args:
        launcher: the program that reads the file.
        line: form of a line, with `{host.name}` and `{host.slots}`.
        ipv6: whether a name may be an IPv6 address. It may not where colons count ranks (MPICH) or
            slots (Horovod), or separate names (DeepSpeed's --include).
    """

    def render(hosts: Sequence[Host]) -> str:
        check_names(hosts, launcher, ipv6=ipv6)
        return "".join(line.format(host=host) + "\n" for host in hosts)

    return render


_WITH_RANKS, _WITH_SLOTS = "{host.name}:{host.slots}", "{host.name} slots={host.slots}"

FORMATS = (
    Format(
        name="hosts",
        about="names, one per line, each host once",
        usage='while read -r host; do ssh -n "$host" hostname; done < FILE',
        render=_build_writer("a list of names", "{host.name}", ipv6=True),
        adjacent_because="it lists every host once",
    ),
    Format(
        name="mpich",
        about="MPICH (Hydra): host file with ranks per host",
        usage="mpiexec -n RANKS -f FILE PROGRAM",
        render=_build_writer("MPICH", _WITH_RANKS),
    ),
    Format(
        name="intelmpi",
        about="Intel MPI: machine file with ranks per host",
        usage="I_MPI_JOB_RESPECT_PROCESS_PLACEMENT=off mpirun -n RANKS -machinefile FILE PROGRAM",
        render=_build_writer("Intel MPI", _WITH_RANKS),
    ),
    Format(
        name="horovod",
        about="Horovod: host file with slots",
        usage="horovodrun --gloo -np RANKS --hostfile FILE python SCRIPT",
        render=_build_writer("Horovod", _WITH_SLOTS),
        adjacent_because="Horovod takes a host once",
    ),
    Format(
        name="deepspeed",
        about="DeepSpeed: host file with slots",
        usage="deepspeed --hostfile FILE SCRIPT",
        render=_build_writer("DeepSpeed", _WITH_SLOTS),
        adjacent_because="DeepSpeed takes a host once",
    ),
)
NAMES, MPICH, INTEL_MPI, HOROVOD, DEEPSPEED = FORMATS
