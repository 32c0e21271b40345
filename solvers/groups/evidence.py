"""Whether readings show groups at all, against whatever else could have made them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from plink.solvers.groups.dendrogram import Mask, by_average_linkage, by_profile
from plink.solvers.groups.grouping import Matrix
from plink.solvers.groups.nulls import cost_of_host_latencies, cost_of_one_mean, cost_of_space
from plink.solvers.groups.structure import LEAST_NOISE, Structure, best_structure

# Points in space are fitted to no more hosts than that, drawn at random.
_MOST_HOSTS_IN_SPACE = 200
# Shuffled readings are looked at where the evidence is less than this for each host, and more:
# heavy tails alone make a tenth of it.
_NATS_A_HOST = 10.0
_MORE_NATS = 50.0
_MOST_SHUFFLES, _FEWEST_SHUFFLES = 20, 8
_SHUFFLED_HOSTS = 640
# What the best structure of shuffled readings gains is exceeded by this many deviations once in
# several hundred times (Gumbel's distribution, of maxima).
_DEVIATIONS = 3.0
# Readings share hosts and moments, so that they say less than so many independent ones.
_WEIGHT = 0.5
# Few readings cannot be told from shuffled ones by their order alone. Those of so few hosts that
# fall into classes this far apart, with this little noise, are believed all the same, never quite.
_FEW_HOSTS = 24
_CLEAR_STEP = 0.15
_CLEAR_DEVIATIONS = 6.0
_CLEAR_NOISE = 0.1
_MOST_IF_CLEAR = 3.0

EQUAL = "all hosts are equally far from each other"
LATENCIES = "hosts differ only in what they take themselves"
SPACE = "hosts are spread like places, without borders"


@dataclass(frozen=True)
class Readings:
    """What the evidence is.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) symmetric, false on the diagonal: which of them there are.
        filled: (N, N) matrices of logarithms without gaps, symmetric, on which trees are built; the
            first is of the readings themselves. Diagonals do not count.
        noise: what readings are off by at least, as a share of them.
    """

    logs: Matrix
    is_measured: Mask
    filled: Sequence[Matrix]
    noise: float = LEAST_NOISE

    def of_hosts(self, hosts: npt.NDArray[np.intp]) -> Readings:
        """The readings between some hosts."""
        some = np.ix_(hosts, hosts)
        filled = [matrix[some] for matrix in self.filled]
        return replace(
            self, logs=self.logs[some], is_measured=self.is_measured[some], filled=filled
        )


@dataclass(frozen=True)
class Evidence:
    """The best structure, and how much speaks for it.

    Args:
        structure: of least cost; of the root alone where nothing is nearer than the rest.
        log_odds: of there being groups, in nats.
        rival: the best explanation without groups, in words.
    """

    structure: Structure
    log_odds: float
    rival: str

    @property
    def probability(self) -> float:
        """The probability that there are groups, 0 to 1."""
        return float(probability(self.log_odds))


def probability(log_odds: float | npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """From odds in nats to probabilities."""
    found: npt.NDArray[np.float64] = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -500.0, 500.0)))
    return found


def weigh(readings: Readings, *, seed: int = 0) -> Evidence:
    """The evidence for groups in readings.

    The cost of the best structure is compared with those of its rivals, and what it gains with what
    the best structures of shuffled readings gain.
    """
    structure = _best(readings)
    if len(structure.nodes) == 1:
        return Evidence(structure, -np.inf, EQUAL)
    logs, is_measured, noise = readings.logs, readings.is_measured, readings.noise
    gains = {
        EQUAL: cost_of_one_mean(logs, is_measured, noise) - structure.cost,
        LATENCIES: cost_of_host_latencies(logs, is_measured, noise) - structure.cost,
        SPACE: _gain_over_space(readings, seed),
    }
    rival = min(gains, key=lambda name: gains[name])
    gain = gains[rival]
    log_odds = _WEIGHT * gain
    if 0.0 < gain < _NATS_A_HOST * len(logs) + _MORE_NATS:
        chance = _gains_by_chance(readings, seed)
        deviation = float(np.std(chance))
        excess = gain - float(np.mean(chance)) - _DEVIATIONS * deviation
        log_odds = _WEIGHT * excess / max(1.0, deviation)
    if len(logs) <= _FEW_HOSTS and _is_clear(structure):
        log_odds = max(log_odds, min(_WEIGHT * gain, _MOST_IF_CLEAR))
    return Evidence(structure, log_odds, rival)


def _best(readings: Readings) -> Structure:
    found = []
    for filled in readings.filled:
        apart = filled - filled[~np.eye(len(filled), dtype=bool)].min()
        np.fill_diagonal(apart, 0.0)
        for distances in (apart, by_profile(apart)):
            tree = by_average_linkage(distances, readings.logs, readings.is_measured)
            found.append(best_structure(tree, readings.noise))
    return min(found, key=lambda structure: structure.cost)


def _gain_over_space(readings: Readings, seed: int) -> float:
    size = len(readings.logs)
    if size > _MOST_HOSTS_IN_SPACE:
        rng = np.random.default_rng([seed, size])
        readings = readings.of_hosts(rng.permutation(size)[:_MOST_HOSTS_IN_SPACE])
        if not readings.is_measured.any(axis=1).all():
            return np.inf
    best = _best(readings).cost
    return cost_of_space(readings.logs, readings.is_measured, readings.noise) - best


def _gains_by_chance(readings: Readings, seed: int) -> npt.NDArray[np.float64]:
    """What the best structures of the same readings gain, each time between other pairs."""
    rng = np.random.default_rng([seed, 0x5F])
    is_measured = readings.is_measured
    pairs = np.triu(is_measured, 1)
    values = readings.logs[pairs]
    usual = cost_of_one_mean(readings.logs, is_measured, readings.noise)
    gains = []
    # With more hosts, the gain of the best of more trees varies less.
    shuffles = max(_FEWEST_SHUFFLES, min(_MOST_SHUFFLES, _SHUFFLED_HOSTS // len(readings.logs)))
    for _ in range(shuffles):
        shuffled = np.zeros_like(readings.logs)
        shuffled[pairs] = rng.permutation(values)
        shuffled += shuffled.T
        filled = np.where(is_measured, shuffled, values.mean())
        gains.append(usual - _best(replace(readings, logs=shuffled, filled=[filled])).cost)
    return np.array(gains)


def _is_clear(structure: Structure) -> bool:
    """Whether readings fall into classes that are far apart, and many deviations."""
    step = float(np.diff(np.sort(structure.log_mean)).max(initial=0.0))
    least = max(np.log1p(_CLEAR_STEP), _CLEAR_DEVIATIONS * structure.deviation)
    return structure.deviation <= _CLEAR_NOISE and step >= least
