"""Two classes of readings, within groups and between them, and what readings cost under both.

A grouping splits the pairs of hosts into those within a group and those between groups. Each class
has its own density of logarithms of readings, a kernel estimate that leaves out the reading that it
is evaluated at (Stone 1984), so that no shape of noise is assumed: one-sided, bimodal and heavy
tails are all the same to it. The cost of a grouping is the negative log likelihood of all readings,
in nats. Two things keep a continuum of distances from becoming groups: noise makes one distance
longer by at most `_MOST_NOISE`, so a reading within groups outside such a window counts as rare,
and readings between groups must be farther than those within, on average and at their least.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

_WEIGHTS = (0.5, 4.0)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Logarithms are counted in bins of this width, or wider ones where there would be too many.
_BIN, _MOST_BINS = 0.01, 500
# Widths of the kernel, of which the one is used that describes all readings best.
_BANDWIDTHS = (0.02, 0.06, 0.15)
# Noise multiplies one distance by at most this.
_MOST_NOISE = np.log(2.5)
# Share of readings within groups that may lie outside.
_RARE = 0.01
# Distances between groups are farther than those within by at least this.
_LEAST_STEP = np.log(1.06)
# The density of a class has one pseudo-reading with the density of all readings, and that one with
# a kernel of this width.
_WIDE = 0.3


def price_partition(labels: Ints, parents: Ints | None = None) -> tuple[float, float]:
    """Return the nats that it takes to say which units are together, and the weight of a group.

    Args:
        labels: (U,) the group of each unit.
        parents: (U,) the group that each unit is known to stay within; None for no limits.
    """
    units = [len(labels)] if parents is None else np.bincount(parents).tolist()
    counts = np.bincount(labels)
    used = counts[counts > 0]
    prices = {
        weight: sum(_log_sum_of_weights(count, weight) for count in units)
        - float(log_weights(used, weight).sum())
        for weight in _WEIGHTS
    }
    likeliest = min(_WEIGHTS, key=lambda weight: prices[weight])
    return prices[likeliest] + float(np.log(len(_WEIGHTS))), likeliest


def log_weights(counts: Ints, weight: float) -> Floats:
    """Return log(a c!), by which groups of c units make a partition likelier."""
    weights: Floats = gammaln(counts + 1.0) + np.log(weight)
    return weights


@cache
def _log_sum_of_weights(units: int, weight: float) -> float:
    """Return the logarithm of the weights of all partitions of so many units.

    The sums s_n have the generating function exp(a x / (1 - x)), so that
    s_n = (2 n - 2 + a) s_(n-1) - (n - 1) (n - 2) s_(n-2).
    """
    total, ratio = 0.0, 1.0
    for number in range(1, units + 1):
        ratio = 2 * number - 2 + weight - (number - 1) * (number - 2) / ratio
        total += float(np.log(ratio))
    return total


class Classes:
    """Histogram of log readings, which scores how well classes of host pairs explain them.

    Args:
        values: (P,) logarithms of the readings.
    """

    def __init__(self, values: Floats) -> None:
        self._lowest = float(values.min(initial=np.inf)) if len(values) else 0.0
        spread = float(np.ptp(values)) if len(values) else 0.0
        self.width = max(_BIN, spread / _MOST_BINS)
        self.count = round(spread / self.width) + 1
        self.all = np.bincount(self.find_bins(values), minlength=self.count).astype(np.float64)
        self._middles: Floats = self.width * np.arange(self.count, dtype=np.float64)
        self._window = int(min(_MOST_NOISE / self.width, self.count))
        self._log_rare = float(np.log(_RARE / (self.count * self.width + 0.5)))
        total = max(len(values), 1)
        wide = self._build_kernel(_WIDE) @ self.all / total
        self.one_class_cost = np.inf
        for bandwidth in _BANDWIDTHS:
            kernel = self._build_kernel(bandwidth)
            others = np.maximum(kernel @ self.all - kernel[0, 0], 0.0)
            density = np.maximum((others + wide) / total, 1e-12)
            cost = -float(self.all @ np.log(density))
            if cost < self.one_class_cost:
                self.one_class_cost, self.density = cost, density
                self.bandwidth, self._kernel = bandwidth, kernel

    def _build_kernel(self, bandwidth: float) -> Floats:
        """Return (B, B) the density at each bin of a reading in each other."""
        apart = np.subtract.outer(self._middles, self._middles) / bandwidth
        kernel: Floats = np.exp(-0.5 * apart**2) / (bandwidth * np.sqrt(2.0 * np.pi))
        return kernel

    def find_bins(self, values: Floats) -> npt.NDArray[np.int32]:
        """Return the bin of each value, which may lie outside 0 ... `count` - 1."""
        return np.rint((values - self._lowest) / self.width).astype(np.int32)

    def cost_classes(self, histograms: Floats, *, is_one_distance: bool = False) -> Floats:
        """Return (M,) the cost in nats of each class of readings.

        Args:
            histograms: (M, B) readings of each class by bin.
            is_one_distance: whether noise alone spreads the readings of a class.
        """
        own, _ = self._log_densities(histograms, is_one_distance=is_one_distance)
        costs: Floats = -(histograms * own).sum(axis=1)
        return costs

    def cost_splits(self, within: Floats) -> Floats:
        """Return (M,) the cost in nats of M ways to divide readings: within and between groups.

        Args:
            within: (M, B) readings within groups by bin.
        """
        return self.cost_classes(within, is_one_distance=True) + self.cost_classes(
            self.all - within
        )

    def weigh_split(self, within: Floats) -> tuple[float, Floats, Floats]:
        """Return the cost of a grouping in nats, and log odds by bin that a pair is within a group.

        Args:
            within: (B,) readings within groups by bin.

        Returns:
            the cost, infinite unless readings within groups are clearly smaller; (B,) the log odds
            of pairs that are within a group, and of those that are not.
        """
        inside, between = within[None], (self.all - within)[None]
        if not self.are_nearer(inside)[0]:
            return np.inf, np.zeros(self.count), np.zeros(self.count)
        own_in, new_in = self._log_densities(inside, is_one_distance=True)
        own_out, new_out = self._log_densities(between)
        cost = -float((inside * own_in + between * own_out).sum())
        return cost, own_in[0] - new_out[0], new_in[0] - own_out[0]

    def _log_densities(
        self, histograms: Floats, *, is_one_distance: bool = False
    ) -> tuple[Floats, Floats]:
        """Return (M, B) log densities of classes at readings of their own, left out, and at others.

        Args:
            histograms: (M, B) readings of each class by bin.
            is_one_distance: whether noise alone spreads the readings of a class.
        """
        totals, sums = histograms.sum(axis=1)[:, None], histograms @ self._kernel
        others = np.maximum(sums - self._kernel[0, 0], 0.0)
        own = np.log((others + self.density) / (np.maximum(totals - 1.0, 0.0) + 1.0))
        new = np.log((sums + self.density) / (totals + 1.0))
        if is_one_distance:
            is_inside = self._place_windows(histograms)
            own, new = (np.where(is_inside, logs, self._log_rare) for logs in (own, new))
        return own, new

    def _place_windows(self, histograms: Floats) -> Mask:
        """Return (M, B) which bins lie in the window of noise that holds most readings."""
        if self.count <= self._window:
            return np.ones(histograms.shape, dtype=bool)
        sums = np.pad(histograms.cumsum(axis=1), ((0, 0), (1, 0)))
        start = (sums[:, self._window :] - sums[:, : -self._window]).argmax(axis=1)[:, None]
        bins = np.arange(self.count)[None, :]
        is_inside: Mask = (bins >= start) & (bins < start + self._window)
        return is_inside

    def are_nearer(self, within: Floats) -> Mask:
        """Return (M,) whether readings within are less, on average and at their least.

        Args:
            within: (M, B) readings within groups by bin.
        """
        means, lows, has_any = [], [], []
        for histograms in (within, self.all - within):
            totals = histograms.sum(axis=1)
            is_low = histograms.cumsum(axis=1) >= 0.1 * totals[:, None]
            means.append(histograms @ self._middles / np.maximum(totals, 1.0))
            lows.append(self._middles[is_low.argmax(axis=1)])
            has_any.append(totals > 0)
        is_far = np.minimum(means[1] - means[0], lows[1] - lows[0]) >= _LEAST_STEP
        nearer: Mask = has_any[0] & has_any[1] & is_far
        return nearer
