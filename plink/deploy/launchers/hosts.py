"""Names, one a line."""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.format import Format
from plink.deploy.launchers.names import check_names
from plink.files.cluster import Host


def render(hosts: Sequence[Host]) -> str:
    """Each host once, in rank order, however many slots it has."""
    check_names(hosts, "a list of names")
    return "".join(f"{host.name}\n" for host in hosts)


FORMAT = Format(
    name="hosts",
    about="names, one a line, each host once",
    usage='while read -r host; do ssh -n "$host" hostname; done < FILE',
    render=render,
    adjacent_because="it lists every host once",
)
