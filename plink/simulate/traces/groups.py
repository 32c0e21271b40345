"""Which ranks a process group of a trace has.

PyTorch's traces name a group (`pg_name`) at every collective. Its ranks stand in a node that
declares the groups, if the profiler was told to write it, or in the file that ASTRA-sim is given
beside the trace: an object with the ranks of every group by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plink.base.errors import WrongUseError
from plink.base.text import brief, format_count, format_names
from plink.probes.json_parsing import parse_json

Members = tuple[int, ...]

# The name of the node that declares groups.
DECLARATION = "process_group:init"
GROUPS_FILE = "comm_group.json"

# What PyTorch calls the group of all ranks.
_ALL = ("", "0", "default_pg")
_SHOWN = 3


@dataclass(frozen=True)
class Groups:
    """The groups that a rank may call collectives of.

    Args:
        ranks: how many there are in all.
        rank: whose they are.
        given: those beside the trace, by name.
        declared: those that the rank's own trace declares, by name.
    """

    ranks: int
    rank: int
    given: Mapping[str, Members]
    declared: Mapping[str, Members]


def members_of(groups: Groups, name: str, size: int | None, place: str) -> Members:
    """Return the ranks of the group of a collective.

    Args:
        groups: those that are known.
        name: of the group; empty where the collective names none.
        size: of the group, where the collective says it.
        place: what messages call the collective.

    Raises:
        WrongUseError: they are not known, are said in two ways, or the rank is none of them.
    """
    said = [known[name] for known in (groups.declared, groups.given) if name in known]
    if len(set(said)) > 1:
        raise WrongUseError(f"{place}: the trace and {GROUPS_FILE} give group {name!r} other ranks")
    if said:
        members = said[0]
    elif size == groups.ranks or (size is None and name in _ALL):
        members = tuple(range(groups.ranks))
    else:
        of = f"of {format_count(size, 'rank')} " if size is not None else ""
        raise WrongUseError(
            f"{place}: is a collective {of}of group {brief(name)}, and the trace does not say "
            "which ranks that has",
            f'put ASTRA-sim\'s {GROUPS_FILE} beside the trace: {{"{name[:20]}": [0, 1]}}',
        )
    if size not in (None, len(members)):
        raise WrongUseError(
            f"{place}: is a collective of {format_count(size or 0, 'rank')}, and group {name!r} "
            f"has {len(members)}"
        )
    if groups.rank not in members:
        shown = format_names([str(rank) for rank in members], _SHOWN)
        raise WrongUseError(f"{place}: rank {groups.rank} is not in group {name!r} ({shown})")
    return members


def parse_groups(data: Mapping[str, Any], ranks: int, source: str) -> Mapping[str, Members]:
    """Return the groups in ASTRA-sim's file, by name.

    Raises:
        WrongUseError: a group is no list of ranks of the trace.
    """
    return {
        name: _members(value, ranks, f"{source}: group {name!r}") for name, value in data.items()
    }


def declared_groups(text: str, ranks: int, place: str) -> Mapping[str, Members]:
    """Return the groups in the inputs of a node that declares them, by name.

    Args:
        text: of the inputs: a list of objects with `pg_name` and `ranks`, in other brackets.
        ranks: of the trace.
        place: what messages call the node.

    Raises:
        WrongUseError: it is no such list, or has ranks that the trace lacks.
    """
    text = text.replace('\\"', '"')
    objects = text[text.find("[{") : text.rfind("}]") + 2]
    try:
        data = parse_json(b'{"groups": %s}' % objects.encode())
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise WrongUseError(f"{place}: does not declare process groups as PyTorch does")
    groups: dict[str, Members] = {}
    for each in data["groups"]:
        name = each.get("pg_name") if isinstance(each, dict) else None
        if not isinstance(name, (str, int)):
            raise WrongUseError(f"{place}: declares a process group without a name")
        # Of the group of all ranks PyTorch writes none.
        members = each.get("ranks") or list(range(ranks))
        groups[str(name)] = _members(members, ranks, f"{place}: group {str(name)!r}")
    return groups


def _members(value: object, ranks: int, place: str) -> Members:
    if not isinstance(value, list) or not value:
        raise WrongUseError(f"{place}: is no list of ranks")
    for rank in value:
        if type(rank) is not int or not 0 <= rank < ranks:
            raise WrongUseError(
                f"{place}: {brief(rank)} is none of the trace's {format_count(ranks, 'rank')}"
            )
    if len(set(value)) < len(value):
        raise WrongUseError(f"{place}: has a rank twice")
    return tuple(value)
