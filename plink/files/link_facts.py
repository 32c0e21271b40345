"""What is known of a cluster's links beside rates: buckets, and links that groups share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plink.base.errors import WrongUseError
from plink.files.bandwidth import MAX_GBIT_S
from plink.files.document import brief
from plink.files.fields import Fields
from plink.files.measurement import without_nones

MAX_BURST_BYTES = 1 << 40
LEAST_GBIT_S = 1e-6


@dataclass(frozen=True)
class Row:
    """Groups that share a link further up: their traffic with all groups beyond it.

    Args:
        name: such as a row of racks.
        groups: names; no group is in two rows.
        send_gbit_s, receive_gbit_s: None where unlimited.
    """

    name: str
    groups: Sequence[str]
    send_gbit_s: float | None = None
    receive_gbit_s: float | None = None


@dataclass(frozen=True)
class LinkFacts:
    """What else is known of links.

    Args:
        burst_bytes: what every limited link lets pass at once after a pause.
        rows: of groups.
    """

    burst_bytes: int = 0
    rows: Sequence[Row] = ()


def to_json(facts: LinkFacts, groups: Sequence[str]) -> dict[str, Any]:
    """`facts` as a JSON object, without rows of groups that are there no longer."""
    rows = [
        without_nones({**vars(row), "groups": list(row.groups)})
        for row in facts.rows
        if set(row.groups) <= set(groups)
    ]
    return {"burst_bytes": facts.burst_bytes, **({"rows": rows} if rows else {})}


def parse(fields: Fields, groups: Sequence[str]) -> LinkFacts:
    """The facts of a cluster with groups of these names.

    Raises:
        WrongUseError: a group that is unknown or in two rows, a row twice, or invalid values.
    """
    left = set(groups)
    rows: list[Row] = []
    for item in fields.objects("rows", optional=True):
        row = Row(
            item.word("name"),
            item.texts("groups"),
            item.optional_number("send_gbit_s", low=LEAST_GBIT_S, high=MAX_GBIT_S),
            item.optional_number("receive_gbit_s", low=LEAST_GBIT_S, high=MAX_GBIT_S),
        )
        if not row.groups:
            raise item.error("groups", "at least one group")
        if any(row.name == other.name for other in rows):
            raise WrongUseError(f"{item.place}: row {brief(row.name)} is listed twice")
        for group in row.groups:
            if group not in left:
                raise WrongUseError(f"{item.place}: {brief(group)} is no group, or in two rows")
            left.remove(group)
        rows.append(row)
    return LinkFacts(fields.integer("burst_bytes", 0, MAX_BURST_BYTES), rows)
