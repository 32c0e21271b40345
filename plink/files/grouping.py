"""How the groups of a cluster file were found, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plink.base.errors import WrongUseError
from plink.files.document import brief
from plink.files.fields import Fields
from plink.files.measurement import without_nones

_MOST = 1e12


@dataclass(frozen=True)
class GroupQuality:
    """How far a group is from the others, and how sure it is.

    Args:
        group: its name.
        within_us: the median distance between two of its hosts; None for one host.
        between_us: the median distance to the hosts of the nearest other group; None if alone.
        within_gbit_s, between_gbit_s: the same where hosts were grouped by bandwidth.
        probability: that it is a group, and not a part of another or several; None in files of
            earlier versions.
    """

    group: str
    within_us: float | None = None
    between_us: float | None = None
    within_gbit_s: float | None = None
    between_gbit_s: float | None = None
    probability: float | None = None


@dataclass(frozen=True)
class DoubtfulHost:
    """A host that may belong elsewhere, and the probability that it belongs where it is."""

    host: str
    probability: float


@dataclass(frozen=True)
class Grouping:
    """How groups were found.

    Args:
        method: `levels`, `linkage` or `kmeans`.
        options: it ran with, as JSON values.
        matrix: `raw` or `embedding`: the distances that were grouped.
        seed: of the random choices.
        probability: that the distances show groups at all; None in files of earlier versions.
        rival: the best explanation of the distances without groups, in words.
        confirmed: adjusted mutual information of the groups found on the odd passes' readings alone
            and on the even ones', or on either direction's; None where it could not be checked.
        quality: of each group.
        doubtful: hosts that may belong elsewhere, the least sure first.
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
    probability: float | None = None
    rival: str | None = None
    confirmed: float | None = None
    quality: Sequence[GroupQuality] = ()
    doubtful: Sequence[DoubtfulHost] = ()
    alone: Sequence[str] = ()
    unmeasured: Sequence[str] = ()
    levels: Sequence[Sequence[Sequence[str]]] = ()
    notes: Sequence[str] = ()


def to_json(grouping: Grouping) -> dict[str, Any]:
    """`grouping` as a JSON object."""
    return {
        "method": grouping.method,
        "options": dict(grouping.options),
        "matrix": grouping.matrix,
        "seed": grouping.seed,
        "probability": _rounded(grouping.probability),
        "rival": grouping.rival,
        "confirmed": _rounded(grouping.confirmed),
        "quality": [
            {name: _rounded(value) for name, value in without_nones(vars(quality)).items()}
            for quality in grouping.quality
        ],
        "doubtful": [
            {"host": doubtful.host, "probability": _rounded(doubtful.probability)}
            for doubtful in grouping.doubtful
        ],
        "alone": list(grouping.alone),
        "unmeasured": list(grouping.unmeasured),
        "levels": [{"groups": [list(group) for group in groups]} for groups in grouping.levels],
        "notes": list(grouping.notes),
    }


def parse(fields: Fields, names: Sequence[str]) -> Grouping:
    """The grouping in a cluster file with hosts of these names.

    Raises:
        WrongUseError: invalid values, or hosts that are not there.
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
        probability=fields.optional_number("probability", low=0.0, high=1.0),
        rival=fields.optional_text("rival"),
        confirmed=fields.optional_number("confirmed", low=-1.0, high=1.0),
        quality=[_quality(item) for item in fields.objects("quality", optional=True)],
        doubtful=[_doubtful(item, known) for item in fields.objects("doubtful", optional=True)],
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
        within_gbit_s=fields.optional_number("within_gbit_s", low=0.0, high=_MOST),
        between_gbit_s=fields.optional_number("between_gbit_s", low=0.0, high=_MOST),
        probability=fields.optional_number("probability", low=0.0, high=1.0),
    )


def _doubtful(fields: Fields, known: set[str]) -> DoubtfulHost:
    (host,) = _hosts(fields, [fields.word("host")], known)
    return DoubtfulHost(host, fields.number("probability", low=0.0, high=1.0))


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
            raise WrongUseError(f"{fields.place}: {brief(host)} is not one of the hosts")
    return list(hosts)


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value
