"""Benchmark of groups on networks drawn at random: exactly right answers, and certainty."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from benchkit.drawn_networks import GROUPED, UNGROUPED, DrawnNetwork, Matrix, draw
from benchkit.peers import textbook_groups
from benchkit.report import Report
from plink.solvers.distances import fill_gaps
from plink.solvers.groups.grouping import separate_alone
from plink.solvers.groups.levels import SURE, Discovery, choose_level, discover

_LARGEST_SEED = 10**9
_WORKERS = 2


@dataclass(frozen=True)
class Found:
    """Groups that were found in one network.

    Args:
        is_exact: the finest true level is among the levels found.
        is_chosen: the level that is chosen is a true one.
        is_textbook_exact: the textbook's groups are the finest true level.
        claims, textbook_claims: there are groups.
        probability: that the chosen groups are exactly right, as plink says.
    """

    is_exact: bool
    is_chosen: bool
    is_textbook_exact: bool
    claims: bool
    textbook_claims: bool
    probability: float


def report_drawn(networks: int, first_seed: int | None, report: Report) -> None:
    """Print what is found of each kind, and how often sure answers are right.

    Args:
        networks: of each kind.
        first_seed: of each kind; None to draw it.
        report: where it is printed.
    """
    first = secrets.randbelow(_LARGEST_SEED) if first_seed is None else first_seed
    report.say(f"seeds {first} to {first + networks - 1}")
    seeds = range(first, first + networks)
    grouped: list[tuple[str, int, int]] = []
    claimed: list[tuple[str, int, int]] = []
    answers: list[Found] = []
    with ProcessPoolExecutor(_WORKERS) as workers:
        for kind in (*GROUPED, *UNGROUPED):
            found = list(workers.map(partial(_judge_network, kind), seeds))
            if kind in GROUPED:
                grouped.append((kind, *_exact(found)))
                answers += [each for each in found if each.claims]
            else:
                claims = sum(each.claims for each in found)
                claimed.append((kind, claims, sum(each.textbook_claims for each in found)))
    exact = sum(found for _, found, _ in grouped)
    rows = [*grouped, ("all", exact, sum(textbook for _, _, textbook in grouped))]
    report.table(("groups exactly right", f"plink, of {networks}", "textbook"), rows, "drawn")
    report.table(("groups claimed", f"plink, of {networks}", "textbook"), claimed, "claimed")
    sure = [each.is_chosen for each in answers if each.probability >= SURE]
    of_networks = networks * len(GROUPED)
    report.at_least("groups exactly right", 85, 100 * exact / of_networks, "%")
    most = max(claims for _, claims, _ in claimed)
    report.at_most("groups claimed where there are none, of a kind", 3, 100 * most / networks, "%")
    if sure:
        report.say(f"called {SURE:.0%} sure or more: {len(sure)}, of which {sum(sure)} are right")
        report.at_least("right among the sure", 95, 100 * float(np.mean(sure)), "%")


def discover_groups(measured: Matrix) -> Discovery:
    """Return the groups of a symmetric matrix, NaN where nothing was measured."""
    is_measured = np.isfinite(measured)
    return discover(np.where(is_measured, measured, 0.0), is_measured)


def _exact(found: Sequence[Found]) -> tuple[int, int]:
    return sum(each.is_exact for each in found), sum(each.is_textbook_exact for each in found)


def _judge_network(kind: str, seed: int) -> Found:
    network = draw(kind, seed)
    least = np.fmin(network.readings_us, network.readings_us.T)
    discovery = discover_groups(least)
    textbook = textbook_groups(fill_gaps(least)[0])
    levels = [separate_alone(level.labels) for level in discovery.levels]
    chosen = separate_alone(choose_level(discovery.levels).labels) if levels else None
    return Found(
        is_exact=any(_is_finest(labels, network) for labels in levels),
        is_chosen=any(_is_same(chosen, level) for level in network.levels),
        is_textbook_exact=_is_finest(textbook, network),
        claims=bool(levels),
        textbook_claims=textbook is not None,
        probability=discovery.probability,
    )


def _is_finest(labels: npt.ArrayLike | None, network: DrawnNetwork) -> bool:
    return bool(network.levels) and _is_same(labels, network.levels[0])


def _is_same(labels: npt.ArrayLike | None, level: npt.ArrayLike) -> bool:
    """Whether the same hosts are together."""
    if labels is None:
        return False
    one, other = np.asarray(labels), np.asarray(level)
    return np.array_equal(one[:, None] == one[None, :], other[:, None] == other[None, :])
