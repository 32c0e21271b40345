"""Which groups are measured at the same time. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Turn:
    """Groups that exchange data with the others at the same time.

    Args:
        groups: indices of them, which exchange nothing with each other.
        sends: they send; else they receive.
    """

    groups: tuple[int, ...]
    sends: bool


def plan_turns(sizes: Sequence[int], wanted: Collection[tuple[int, bool]]) -> list[Turn]:
    """The turns in which groups are measured, few of them.

    Where all uplinks carry as much, the others' bear what the groups of a turn exchange with room
    to spare, and there is a partner for every one of their hosts. No two groups share a turn in
    both directions, and one that shares a turn in one direction is alone in the other, so that it
    shows where something beyond their uplinks is shared and was the limit: a group's two
    directions then differ. A group of which only one direction is wanted is alone.

    Args:
        sizes: the number of hosts of each group, at least 1; at least two groups.
        wanted: index of a group, and whether it is to send.
    """
    order = sorted(range(len(sizes)), key=lambda group: (-sizes[group], group))
    both = [group for group in order if {(group, True), (group, False)} <= set(wanted)]
    receiving = _packed(both, sizes, [])
    solo = next((group for group in both if _company(group, receiving)), None)
    sending: list[tuple[int, ...]] = [] if solo is None else [(solo,)]
    sending += _packed([group for group in both if group != solo], sizes, receiving)
    turns = [Turn(groups, sends=True) for groups in sending]
    turns += [Turn(groups, sends=False) for groups in receiving]
    turns += [Turn((group,), sends) for group, sends in wanted if group not in both]
    return turns


def _packed(
    groups: Sequence[int], sizes: Sequence[int], apart: Iterable[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """Each group in the first turn that takes it, together with none of those it is `apart` from.

    With 4 groups of 9 in a turn, the uplinks of the others are 4/5 full.
    """
    most = 4 * len(sizes) // 9
    turns: list[tuple[int, ...]] = []
    for group in groups:
        others = _company(group, apart)
        for place, turn in enumerate(turns):
            hosts = sizes[group] + sum(sizes[other] for other in turn)
            if len(turn) < most and 2 * hosts <= sum(sizes) and not others & set(turn):
                turns[place] = (*turn, group)
                break
        else:
            turns.append((group,))
    return turns


def _company(group: int, turns: Iterable[tuple[int, ...]]) -> set[int]:
    return {other for turn in turns if group in turn for other in turn} - {group}
