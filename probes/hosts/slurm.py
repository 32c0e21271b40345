"""Hosts of Slurm allocations and topology.conf files.

sbatch(1), OUTPUT ENVIRONMENT VARIABLES: SLURM_JOB_NODELIST is a node list (`gpu[01-04,07]`),
SLURM_TASKS_PER_NODE counts the tasks of each node in that order (`2(x3),1`).

topology.conf(5), and `scontrol show topology`: leaf switches, or blocks, and their nodes. scontrol
repeats nodes at the switches and aggregated blocks above, which are passed over. Names of
parameters in any case, `#` begins a comment, a backslash at the end of a line joins the next, nodes
are a node list.

Input that cannot be used raises `HostListError`, which names the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from plink.probes.errors import HostListError
from plink.probes.hosts import hostlist

_NODES = "SLURM_JOB_NODELIST"
_TASKS = "SLURM_TASKS_PER_NODE"
_COUNT = re.compile(r"([0-9]{1,9})(?:\(x([0-9]{1,9})\))?")

_NAMES = ("switchname", "blockname")
_BEGIN = re.compile(r"^[ \t]*(switchname|blockname)[ \t]*=", re.IGNORECASE | re.MULTILINE)
_NOTHING = ("", "(null)")


def parse_allocation(environment: Mapping[str, str]) -> list[hostlist.ListedHost]:
    """Return the hosts of the Slurm job in environment variables, with tasks per node as slots."""
    nodes = environment.get(_NODES)
    if not nodes:
        hint = "run plink inside salloc or a batch script, or give a host list"
        raise HostListError(f"{_NODES} is not set: this is not a Slurm allocation", hint)
    names = _parse_names(nodes, _NODES)
    slots = list(_parse_task_counts(environment.get(_TASKS, f"1(x{len(names)})")))
    if len(slots) != len(names):
        raise HostListError(f"{_TASKS} is for {len(slots)} nodes, but {_NODES} names {len(names)}")
    hosts = [
        hostlist.ListedHost(name, slots=count, place=_NODES)
        for name, count in zip(names, slots, strict=True)
    ]
    return hostlist.check_hosts(hosts, _NODES)


def _parse_task_counts(text: str) -> Iterator[int]:
    """Yield the number of tasks of every node in SLURM_TASKS_PER_NODE, such as `2(x3),1`."""
    total = 0
    for part in text.split(","):
        match = _COUNT.fullmatch(part.strip())
        if match is None or not 1 <= int(match[1]) <= hostlist.MAX_SLOTS:
            raise HostListError(f"{_TASKS}: {part[:40]!r} is not a number of tasks, as in 2(x3)")
        times = int(match[2] or 1)
        total += times
        if total > hostlist.MAX_NAMES:
            raise HostListError(f"{_TASKS} is for more than {hostlist.MAX_NAMES:,} nodes")
        yield from [int(match[1])] * times


def is_topology_conf(text: str) -> bool:
    """Return whether a text is a topology.conf, by a line with SwitchName= or BlockName=."""
    return _BEGIN.search(text) is not None


@dataclass(frozen=True)
class TopologyConf:
    """Leaf switches or blocks with their nodes, and parents of switches, in a Slurm topology.conf.

    Args:
        leaves: every leaf switch or block by name, with its place in the file and its nodes.
        parents: the parent of every switch that has one, the first where there are several.
    """

    leaves: Mapping[str, tuple[str, Sequence[str]]]
    parents: Mapping[str, str]
    blocks: Set[str]


def parse_topology_conf(text: str, source: str) -> TopologyConf:
    """Parse a topology.conf; `source` names it in errors."""
    leaves: dict[str, tuple[str, list[str]]] = {}
    parents: dict[str, str] = {}
    blocks: set[str] = set()
    count = count_below = 0
    for number, line in _join_continued_lines(text):
        place = f"{source}:{number}"
        values = _parse_assignments(line, place)
        blocks |= {values["blockname"]} if "blockname" in values else set()
        if "switchname" in values and "switches" in values:
            children = expand_names(values["switches"], place)
            count_below += len(children)
            if count_below > hostlist.MAX_NAMES:
                raise HostListError(
                    f"{place}: the file names more than {hostlist.MAX_NAMES:,} switches"
                )
            for child in children:
                parents.setdefault(child, values["switchname"])
        if "nodes" not in values or "switches" in values or "aggregatedblock" in values:
            continue
        name = next((values[key] for key in _NAMES if key in values), "")
        if not name:
            raise HostListError(f"{place}: Nodes= needs SwitchName= or BlockName= on the line")
        if name in leaves:
            raise HostListError(f"{place}: {name[:40]!r} is already defined at {leaves[name][0]}")
        members = _parse_names(values["nodes"], place)
        leaves[name] = (place, members)
        count += len(members)
        if count > hostlist.MAX_NAMES:
            raise HostListError(f"{place}: the file names more than {hostlist.MAX_NAMES:,} nodes")
    if not leaves:
        raise HostListError(f"{source}: no switch or block has nodes")
    return TopologyConf(leaves, parents, blocks)


def _join_continued_lines(text: str) -> list[tuple[int, str]]:
    """Return (line number, content) without comments, with lines that end in a backslash joined."""
    lines: list[tuple[int, str]] = []
    begun: tuple[int, str] | None = None
    for number, raw in enumerate(text.split("\n"), start=1):
        content = raw.partition("#")[0].rstrip()
        first, before = begun or (number, "")
        if content.endswith("\\"):
            begun = (first, before + content[:-1])
            continue
        begun = None
        if (before + content).strip():
            lines.append((first, before + content))
    return lines if begun is None else [*lines, begun]


def _parse_assignments(line: str, place: str) -> Mapping[str, str]:
    values: dict[str, str] = {}
    for word in "=".join(part.strip() for part in line.split("=")).split():
        key, equals, value = word.partition("=")
        key = key.lower()
        if not equals:
            raise HostListError(f"{place}: {word[:40]!r} is not of the form KEY=VALUE")
        if value in _NOTHING:
            continue
        if key in values:
            raise HostListError(f"{place}: {key} is given twice")
        values[key] = value
    return values


def expand_names(names: str, place: str) -> list[str]:
    """Return the names in Slurm's list notation: `gpu[01-04,07],a`."""
    try:
        return [
            name
            for part in hostlist.split_outside_brackets(names)
            for name in hostlist.expand(part)
        ]
    except hostlist.RangeError as error:
        raise HostListError(f"{place}: {error}") from None


def _parse_names(nodes: str, place: str) -> list[str]:
    """Return the hosts in a Slurm node list; raise if a name is not a host name."""
    names = expand_names(nodes, place)
    for name in names:
        hostlist.check_name(name, place)
    return names
