"""How the groups of a cluster file were found, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plink.errors import WrongUseError
from plink.files.document import brief
from plink.files.fields import Fields

_MOST = 1e12


@dataclass(frozen=True)
class GroupQuality:
    """How a group stands to the others.

    Args:
        group: its name.
        within_us: the median distance between two of its hosts; None for one host.
        between_us: the median distance to the hosts of the nearest other group; None if alone.
        certainty: the chance, on average over its hosts, that a group mate is nearer than a host of
            the nearest other group: 0.5 is no group, 1 is beyond doubt.
    """

    group: str
    within_us: float | None
    between_us: float | None
    certainty: float | None


@dataclass(frozen=True)
class Grouping:
    """How groups were found.

    Args:
        method: `levels`, `linkage` or `kmeans`.
        options: it ran with, as JSON values.
        matrix: `raw` or `embedding`: the distances that were grouped.
        seed: of what chance decided.
        certainty: of the hosts, the tenth least certain one's; None where it is not known.
        confirmed: adjusted mutual information of the groups found on either direction's readings
            alone; None where it could not be checked.
        quality: of each group.
        alone: names of hosts that fit nowhere.
        unmeasured: names of hosts with too few measurements to be placed.
        levels: groupings that the distances show, the fewest groups first: each a list of groups,
            each a list of names. The groups of the file are one of them where `method` is `levels`.
        notes: what to know before trusting the groups.
    """

    method: str
    matrix: str
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    certainty: float | None = None
    confirmed: float | None = None
    quality: Sequence[GroupQuality] = ()
    alone: Sequence[str] = ()
    unmeasured: Sequence[str] = ()
    levels: Sequence[Sequence[Sequence[str]]] = ()
    notes: Sequence[str] = ()


def to_json(grouping: Grouping) -> dict[str, Any]:
    """The JSON object that stands for it."""
    return {
        "method": grouping.method,
        "options": dict(grouping.options),
        "matrix": grouping.matrix,
        "seed": grouping.seed,
        "certainty": _rounded(grouping.certainty),
        "confirmed": _rounded(grouping.confirmed),
        "quality": [
            {name: _rounded(value) for name, value in vars(quality).items()}
            for quality in grouping.quality
        ],
        "alone": list(grouping.alone),
        "unmeasured": list(grouping.unmeasured),
        "levels": [{"groups": [list(group) for group in groups]} for groups in grouping.levels],
        "notes": list(grouping.notes),
    }


def parse(fields: Fields, names: Sequence[str]) -> Grouping:
    """The grouping in a cluster file with hosts of these names.

    Raises:
        WrongUseError: values that cannot be, or hosts that are not there.
    """
    known = set(names)
    levels = [
        [_hosts(place, group, known) for group in _lists(place, "groups")]
        for place in fields.objects("levels", optional=True)
    ]
    return Grouping(
        method=fields.word("method"),
        matrix=fields.word("matrix"),
        options=fields.settings("options"),
        seed=fields.integer("seed", low=0, high=(1 << 63) - 1, default=0),
        certainty=fields.optional_number("certainty", low=0.0, high=1.0),
        confirmed=fields.optional_number("confirmed", low=-1.0, high=1.0),
        quality=[_quality(item) for item in fields.objects("quality", optional=True)],
        alone=_hosts(fields, fields.texts("alone"), known),
        unmeasured=_hosts(fields, fields.texts("unmeasured"), known),
        levels=levels,
        notes=fields.texts("notes"),
    )


def _quality(fields: Fields) -> GroupQuality:
    return GroupQuality(
        group=fields.word("group"),
        within_us=fields.optional_number("within_us", low=0.0, high=_MOST),
        between_us=fields.optional_number("between_us", low=0.0, high=_MOST),
        certainty=fields.optional_number("certainty", low=0.0, high=1.0),
    )


def _lists(fields: Fields, name: str) -> list[list[str]]:
    value = fields.values.get(name)
    is_lists = isinstance(value, list) and all(
        isinstance(group, list) and all(isinstance(host, str) for host in group) for group in value
    )
    if value is None or not is_lists:
        raise fields.error(name, "a list of lists of hosts")
    found: list[list[str]] = value
    return found


def _hosts(fields: Fields, hosts: Sequence[str], known: set[str]) -> list[str]:
    for host in hosts:
        if host not in known:
            raise WrongUseError(f"{fields.place}: {brief(host)} is none of the hosts")
    return list(hosts)


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value
