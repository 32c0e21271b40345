"""Open MPI's files: the sequential host file, and the rankfile for 4.1 and 5.

A plain hostfile is a set of hosts to Open MPI, which reorders it. Only `--map-by seq` (4.1 and
5; also `--mca rmaps seq` in 4.1) and rankfiles keep the order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from plink.deploy.launchers.format import Format, check_names, is_address, places, refusal
from plink.formats.hosts import Host

_LAUNCHER = "Open MPI"

# Open MPI 4.1 sends the list of hosts to its daemons in a form that has no other characters.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")

# The words of the hostfile's grammar (Open MPI 4.1, orte/util/hostfile/hostfile_lex.l) that
# are also names by the rule above.
_KEYWORDS = frozenset(
    [
        *["boards", "cores", "cores-per-socket", "count", "count-max", "cpu", "cpu-max", "cpu-set"],
        *["max-count", "max-cpu", "max-slots", "rank", "slot", "slots", "slots-max", "sockets"],
        *["sockets-per-board", "user-name", "username"],
    ]
)


def render_sequential(hosts: Sequence[Host]) -> str:
    """Return a host file for Open MPI's `seq` mapper: a host's name once per rank."""
    _check_names(hosts)
    return "".join(f"{place.host.name}\n" for place in places(hosts))


def render_rankfile(hosts: Sequence[Host]) -> str:
    """Return an Open MPI rankfile: a line for each rank with its host and the core to bind to."""
    _check_names(hosts)
    return "".join(
        f"rank {place.rank}={place.host.name} slot={place.local_rank}\n" for place in places(hosts)
    )


def _check_names(hosts: Sequence[Host]) -> None:
    """Raise if Open MPI would refuse a host's name or confuse it with something else."""
    check_names(hosts, _LAUNCHER, ipv6=False)
    by_label: dict[str, Host] = {}
    for host in hosts:
        if not _NAME.fullmatch(host.name):
            raise refusal(
                host, _LAUNCHER, "has characters other than letters, digits, dots and hyphens"
            )
        if host.name in _KEYWORDS:
            raise refusal(host, _LAUNCHER, "is a keyword of its host files")
        if host.name.isdigit():
            raise refusal(host, _LAUNCHER, "is read as a number")
        label = host.name if is_address(host.name) else host.name.partition(".")[0]
        other = by_label.setdefault(label, host)
        if other.name != host.name:
            raise refusal(
                host, _LAUNCHER, f"is also {other.name!r} when both are cut at the first dot"
            )


FORMATS = (
    Format(
        name="openmpi",
        about="Open MPI 4.1 and 5: sequential host file, one line per rank",
        # Without -np the mapper of 4.1 counts the cores of hosts and then lacks lines.
        usage="mpirun -np RANKS --hostfile FILE --map-by seq PROGRAM",
        render=render_sequential,
    ),
    Format(
        name="openmpi-rankfile",
        about="Open MPI 4.1: rankfile, which binds each rank to a core",
        usage="mpirun -np RANKS --rankfile FILE PROGRAM",
        render=render_rankfile,
    ),
    Format(
        name="openmpi5-rankfile",
        about="Open MPI 5: rankfile, which binds each rank to a core",
        # Open MPI 5 does not take the hosts from the rankfile, so they stand beside it.
        usage="mpirun -np RANKS --host \"$(sed 's/.*=\\(.*\\) .*/\\1/' FILE | paste -sd,)\" "
        "--map-by rankfile:file=FILE PROGRAM",
        render=render_rankfile,
    ),
)
