"""What Open MPI reads as the name of a host."""

from __future__ import annotations

import re
from collections.abc import Sequence

from plink.deploy.launchers.names import check_names, is_address, refusal
from plink.files.cluster import Host

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


def check_openmpi_names(hosts: Sequence[Host]) -> None:
    """Refuse names that Open MPI would refuse, or take for something else.

    Raises:
        WrongUseError: there is such a name.
    """
    check_names(hosts, _LAUNCHER, ipv6=False)
    by_label: dict[str, Host] = {}
    for host in hosts:
        if not _NAME.fullmatch(host.name):
            raise refusal(host, _LAUNCHER, "has more than letters, digits, dots and hyphens")
        if host.name in _KEYWORDS:
            raise refusal(host, _LAUNCHER, "is a word of its hostfiles")
        if host.name.isdigit():
            raise refusal(host, _LAUNCHER, "is a number to it")
        label = host.name if is_address(host.name) else host.name.partition(".")[0]
        other = by_label.setdefault(label, host)
        if other.name != host.name:
            raise refusal(host, _LAUNCHER, f"is also {other.name!r} once both are cut at the dot")
