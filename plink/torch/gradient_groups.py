"""Division of gradients into groups that are announced together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from torch import Tensor
from torch.nn import Parameter

from plink.base.errors import WrongUseError
from plink.base.text import brief

_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*(B|KB|MB|GB)")
_FACTORS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}

Groups = int | str | Sequence[Sequence[str | Tensor]] | None


def group_names(parameters: Mapping[str, Parameter], groups: Groups) -> list[list[str]]:
    """Return names by group: each name in one group, each group of one type and device.

    Args:
        parameters: by name, in the order in which the model has them; gradients come about in the
            opposite order, and so do groups.
        groups: how many, of as many parameters each as can be: no more than parameters, no less
            than types; or how large one is at most, such as "25MB"; or the parameters of each,
            those that are in none alone; None for each alone.

    Raises:
        WrongUseError: no such groups can be.
    """
    names = list(parameters)[::-1]
    if isinstance(groups, bool) or not isinstance(groups, int | str | Sequence | None):
        raise WrongUseError(
            f"groups is {brief(groups)}, expected a number of groups, a size such as '25MB', or "
            "lists of parameters or their names"
        )
    if groups is None or groups == 0:
        found = [[name] for name in names]
    elif isinstance(groups, str):
        found = _by_size(names, parameters, size_bytes_of(groups))
    elif isinstance(groups, int):
        if groups < 0:
            raise WrongUseError(f"groups is {groups}, expected at least 1, or 0 for each alone")
        return _by_count(_of_one_type(names, parameters), groups)
    else:
        found = _groups_from_lists(names, parameters, groups)
    return [part for group in found for part in _of_one_type(group, parameters)]


def _by_count(names_by_type: Sequence[list[str]], groups: int) -> list[list[str]]:
    """Cut the names of each type into runs of similar length, `groups` in all where possible."""
    runs = [1] * len(names_by_type)
    while sum(runs) < min(groups, sum(map(len, names_by_type))):
        # The type whose runs are the longest gets one more.
        lengths = [len(names) / count for names, count in zip(names_by_type, runs, strict=True)]
        runs[lengths.index(max(lengths))] += 1
    return [
        names[len(names) * i // count : len(names) * (i + 1) // count]
        for names, count in zip(names_by_type, runs, strict=True)
        for i in range(count)
    ]


def _by_size(
    names: Sequence[str], parameters: Mapping[str, Parameter], most_bytes: int
) -> list[list[str]]:
    found: list[list[str]] = []
    filled_bytes = 0
    for name in names:
        size_bytes = parameters[name].nbytes
        if not found or filled_bytes + size_bytes > most_bytes:
            found.append([])
            filled_bytes = 0
        found[-1].append(name)
        filled_bytes += size_bytes
    return found


def _groups_from_lists(
    names: Sequence[str],
    parameters: Mapping[str, Parameter],
    groups: Sequence[Sequence[str | Tensor]],
) -> list[list[str]]:
    name_of = {id(parameter): name for name, parameter in parameters.items()}
    found: list[list[str]] = []
    taken: set[str] = set()
    for group in groups:
        if isinstance(group, str) or not isinstance(group, Sequence):
            raise WrongUseError(
                f"groups has {brief(group)}, expected a list of parameters or their names",
                "groups=[[NAME, NAME], [NAME]]",
            )
        members: list[str] = []
        for member in group:
            name = member if isinstance(member, str) else name_of.get(id(member), "")
            if name not in parameters:
                raise WrongUseError(f"groups have '{name or 'a tensor'}', which is no parameter")
            if name in taken:
                raise WrongUseError(f"groups have '{name}' twice")
            taken.add(name)
            members.append(name)
        if members:
            found.append(members)
    return [*found, *([name] for name in names if name not in taken)]


def _of_one_type(names: Sequence[str], parameters: Mapping[str, Parameter]) -> list[list[str]]:
    parts: dict[object, list[str]] = {}
    for name in names:
        parts.setdefault((parameters[name].dtype, parameters[name].device), []).append(name)
    return list(parts.values())


def size_bytes_of(text: str) -> int:
    """Parse a size such as "25MB" and return its bytes.

    Raises:
        WrongUseError: it is no such size.
    """
    found = _BYTES.fullmatch(text.strip())
    size_bytes = int(float(found[1]) * _FACTORS[found[2]]) if found else 0
    if size_bytes < 1:
        raise WrongUseError(f"'{text}' is no size of a group", "write it as 25MB")
    return size_bytes
