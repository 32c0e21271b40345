"""Plans of every kind for a network, and which one is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plink.base.text import rtt_text
from plink.plans.forest import Forest
from plink.plans.measures import Measures

# Predictions this near to each other are equal: they leave out more than that.
_EQUAL = 0.01


@dataclass(frozen=True)
class Candidate:
    """One kind of plan.

    Args:
        kind: of `plink.optimize.plans.kinds.KINDS`.
        forest: over the ranks.
        time_s: predicted.
        measures: rounds and bytes.
    """

    kind: str
    forest: Forest
    time_s: float
    measures: Measures


@dataclass(frozen=True)
class Refused:
    """A kind that there is no plan of, and why."""

    kind: str
    reason: str


@dataclass(frozen=True)
class Choice:
    """The chosen candidate, and why it was chosen, as a sentence."""

    candidate: Candidate
    reason: str


def best(candidates: Sequence[Candidate]) -> Choice:
    """The quickest.

    Of several that are predicted to be about as quick, the one that sends least between groups,
    where others may have traffic too, and of those the one with the fewest rounds.
    """
    quickest = min(candidates, key=lambda candidate: candidate.time_s)
    equal = [each for each in candidates if each.time_s <= quickest.time_s * (1.0 + _EQUAL)]
    chosen = min(equal, key=_thrift)
    others = sorted(
        (each for each in candidates if each is not chosen), key=lambda each: each.time_s
    )
    if not others:
        return Choice(chosen, f"{chosen.kind}: the only kind that fits")
    next_best = others[0]
    if len(equal) == 1:
        reason = (
            f"{chosen.kind}: predicted to take {_time(chosen)}, {next_best.kind}, the next best, "
            f"{next_best.time_s / chosen.time_s:.2f} times that"
        )
        return Choice(chosen, reason)
    names = _joined([each.kind for each in equal if each is not chosen])
    return Choice(
        chosen, f"{chosen.kind}: predicted to be as quick as {names}{_beyond(chosen, equal)}"
    )


def asked_for(kind: str, candidates: Sequence[Candidate]) -> Choice:
    """The candidate of a kind, and what would have been chosen without that wish."""
    chosen = next(each for each in candidates if each.kind == kind)
    preferred = best(candidates).candidate
    if preferred is chosen:
        return Choice(chosen, f"{kind}: as asked for, and what auto would have chosen")
    return Choice(
        chosen,
        f"{kind}: as asked for, predicted to take {_time(chosen)}; auto would have chosen "
        f"{preferred.kind}, predicted to take {_time(preferred)}",
    )


def _thrift(candidate: Candidate) -> tuple[int, int]:
    # Whole bytes, for sums of shares differ in their last digits.
    return round(candidate.measures.cross_group_bytes), candidate.measures.rounds


def _beyond(chosen: Candidate, equal: Sequence[Candidate]) -> str:
    """What the chosen one is better at than all others that are as quick."""
    cross_bytes, rounds = _thrift(chosen)
    others = [_thrift(each) for each in equal if each is not chosen]
    if all(other_bytes > cross_bytes for other_bytes, _ in others):
        return ", and to send the least between groups"
    if all(other_rounds > rounds for _, other_rounds in others):
        return ", in the fewest rounds"
    return ""


def _joined(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _time(candidate: Candidate) -> str:
    return rtt_text(candidate.time_s * 1e6)
