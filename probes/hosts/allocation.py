"""The hosts of a Slurm allocation, from the environment of its batch script.

sbatch(1), OUTPUT ENVIRONMENT VARIABLES: SLURM_JOB_NODELIST is a node list (`gpu[01-04,07]`),
SLURM_TASKS_PER_NODE counts the tasks of each node in that order (`2(x3),1`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from probes.errors import HostListError
from probes.hosts.host import ListedHost
from probes.hosts.hostline import MAX_SLOTS, check_name
from probes.hosts.hostlist import checked
from probes.hosts.ranges import MAX_NAMES, RangeError, expand, split_outside_brackets

_NODES = "SLURM_JOB_NODELIST"
_TASKS = "SLURM_TASKS_PER_NODE"
_COUNT = re.compile(r"([0-9]{1,9})(?:\(x([0-9]{1,9})\))?")


def parse_allocation(environment: Mapping[str, str]) -> list[ListedHost]:
    """The hosts of the allocation that `environment` describes, with their tasks as slots.

    Raises:
        HostListError: there is no allocation, or its description is not understood.
    """
    nodes = environment.get(_NODES)
    if not nodes:
        hint = "run plink inside salloc or a batch script, or give a host list"
        raise HostListError(f"{_NODES} is not set: this is no Slurm allocation", hint)
    try:
        names = [name for part in split_outside_brackets(nodes) for name in expand(part)]
    except RangeError as error:
        raise HostListError(f"{_NODES}: {error}") from None
    slots = list(_counts(environment.get(_TASKS, f"1(x{len(names)})")))
    if len(slots) != len(names):
        raise HostListError(f"{_TASKS} is for {len(slots)} nodes, {_NODES} names {len(names)}")
    hosts = []
    for name, count in zip(names, slots, strict=True):
        check_name(name, _NODES)
        hosts.append(ListedHost(name, slots=count, place=_NODES))
    return checked(hosts, _NODES)


def _counts(text: str) -> Iterator[int]:
    """The tasks of every node; `text` may be hostile."""
    total = 0
    for part in text.split(","):
        match = _COUNT.fullmatch(part.strip())
        if match is None or not 1 <= int(match[1]) <= MAX_SLOTS:
            raise HostListError(f"{_TASKS}: {part[:40]!r} is no number of tasks, as in 2(x3)")
        times = int(match[2] or 1)
        total += times
        if total > MAX_NAMES:
            raise HostListError(f"{_TASKS} is for more than {MAX_NAMES:,} nodes")
        yield from [int(match[1])] * times
