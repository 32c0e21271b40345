"""Two classes of readings, within groups and between them, and what readings cost under both.

A grouping splits the pairs of hosts into those within a group and those between groups. Each class
has its own density of logarithms of readings, a kernel estimate that leaves out the reading that it
is evaluated at (Stone 1984), so that no shape of noise is assumed: one-sided, bimodal and heavy
tails are all the same to it. The cost of a grouping is the negative log likelihood of all readings,
in nats. Two things keep a continuum of distances from becoming groups: noise makes one distance
longer by at most `MOST_NOISE`, so a reading within groups outside such a window counts as rare, and
readings between groups must be farther than those within, on average and at their least.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Logarithms are counted in bins of this width.
STEP = 0.01
BANDWIDTHS = (0.02, 0.06, 0.15)
# Noise multiplies one distance by at most this.
MOST_NOISE = np.log(2.5)
# Share of readings within groups that may lie outside.
_RARE = 0.01
# Distances between groups are farther than those within by at least this.
LEAST_STEP = np.log(1.06)
# Pseudo-readings of the density of all readings in the density of a class.
_PRIOR = 1.0
# The density of all readings has this share of a wide kernel, for readings far from all others.
_WIDE_SHARE, _WIDE = 0.05, 0.3
_MOST_BINS = 1500


class Classes:
    """The readings of some pairs, counted in bins, and their densities.

    Args:
        values: (P,) logarithms of the readings.
    """

    def __init__(self, values: Floats) -> None:
        spread = float(np.ptp(values)) if len(values) else 0.0
        step = max(STEP, spread / _MOST_BINS)
        self.lowest = float(values.min())
        self.step = step
        self.bins: Ints = np.rint((values - self.lowest) / step).astype(np.int64)
        self.count = int(self.bins.max()) + 1
        distance = step * np.abs(np.arange(self.count)[:, None] - np.arange(self.count)[None, :])
        self.middles = step * np.arange(self.count)
        self._kernels = [_gauss(distance, width) for width in BANDWIDTHS]
        self._at_zero = [float(_gauss(np.zeros(1), width)[0]) for width in BANDWIDTHS]
        self._window = int(MOST_NOISE / step)
        self._log_rare = float(np.log(_RARE / (self.count * step + 0.5)))
        self.all = np.bincount(self.bins, minlength=self.count).astype(np.float64)
        total = max(len(values), 1)
        wide = _gauss(distance, _WIDE) @ self.all / total
        densities = [
            (1.0 - _WIDE_SHARE) * np.maximum(kernel @ self.all - zero, 0.0) / max(total - 1, 1)
            + _WIDE_SHARE * wide
            for kernel, zero in zip(self._kernels, self._at_zero, strict=True)
        ]
        densities = [np.maximum(density, 1e-12) for density in densities]
        costs = [-float(self.all @ np.log(density)) for density in densities]
        best = int(np.argmin(costs))
        self.one_class_cost = costs[best]
        self.density = densities[best]
        self.log_density = np.log(self.density)
        self.bandwidth = BANDWIDTHS[best]

    def windows(self, histograms: Floats) -> Mask:
        """Return (M, B) which bins lie in the window of noise that holds most readings of a class.

        Args:
            histograms: (M, B) readings of each class by bin.
        """
        if self.count <= self._window:
            return np.ones(histograms.shape, dtype=bool)
        sums = np.concatenate([np.zeros((len(histograms), 1)), histograms.cumsum(axis=1)], axis=1)
        start = (sums[:, self._window :] - sums[:, : -self._window]).argmax(axis=1)[:, None]
        bins = np.arange(self.count)[None, :]
        inside: Mask = (bins >= start) & (bins < start + self._window)
        return inside

    def costs(self, histograms: Floats, *, is_within: bool) -> Floats:
        """Return (M,) the cost in nats of the readings of M classes.

        Args:
            histograms: (M, B) readings of each class by bin.
            is_within: whether these are readings within groups, of one distance.
        """
        totals = histograms.sum(axis=1)
        inside = self.windows(histograms) if is_within else None
        least = np.full(len(histograms), np.inf)
        for kernel, zero in zip(self._kernels, self._at_zero, strict=True):
            others = np.maximum(histograms @ kernel - zero, 0.0) + _PRIOR * self.density
            logs = np.log(others / (np.maximum(totals - 1.0, 0.0)[:, None] + _PRIOR))
            if inside is not None:
                logs = np.where(inside, logs, self._log_rare)
            least = np.minimum(least, -(histograms * logs).sum(axis=1))
        return np.where(totals > 0.0, least, 0.0)

    def log_densities(self, histogram: Floats, *, is_within: bool) -> tuple[Floats, Floats, float]:
        """Return a class's log density by bin for new readings and for its own, and its cost."""
        total = float(histogram.sum())
        inside = self.windows(histogram[None])[0] if is_within else None
        best: tuple[Floats, Floats, float] | None = None
        for kernel, zero in zip(self._kernels, self._at_zero, strict=True):
            seen = kernel @ histogram
            new = np.log((seen + _PRIOR * self.density) / (total + _PRIOR))
            own = np.log(
                (np.maximum(seen - zero, 0.0) + _PRIOR * self.density)
                / (max(total - 1.0, 0.0) + _PRIOR)
            )
            if inside is not None:
                new, own = (np.where(inside, logs, self._log_rare) for logs in (new, own))
            cost = -float(histogram @ own)
            if best is None or cost < best[2]:
                best = new, own, cost
        assert best is not None  # noqa: S101  for the type checker
        return best

    def split(self, is_within: Mask) -> tuple[float, Floats]:
        """Return the cost of two classes, and each pair's log odds of being within a group.

        Args:
            is_within: (P,) which pairs are within groups.

        Returns:
            the cost, infinite where the classes are no groups: one is empty, or within is farther.
        """
        within = np.bincount(self.bins[is_within], minlength=self.count).astype(np.float64)
        between = self.all - within
        if not self.is_nearer(within[None], between[None])[0]:
            return np.inf, np.zeros(len(self.bins))
        new_in, own_in, cost_in = self.log_densities(within, is_within=True)
        new_out, own_out, cost_out = self.log_densities(between, is_within=False)
        odds = np.where(
            is_within,
            own_in[self.bins] - new_out[self.bins],
            new_in[self.bins] - own_out[self.bins],
        )
        return cost_in + cost_out, odds

    def is_nearer(self, within: Floats, between: Floats) -> Mask:
        """Return (M,) whether the classes within are nearer, on average and at their least.

        Args:
            within, between: (M, B) readings by bin.
        """
        counts = within.sum(axis=1), between.sum(axis=1)
        has_both = (counts[0] > 0) & (counts[1] > 0)
        means = [
            histogram @ self.middles / np.maximum(count, 1.0)
            for histogram, count in zip((within, between), counts, strict=True)
        ]
        lows = [
            self.middles[(histogram.cumsum(axis=1) >= 0.1 * count[:, None]).argmax(axis=1)]
            for histogram, count in zip((within, between), counts, strict=True)
        ]
        is_far = (means[1] - means[0] >= LEAST_STEP) & (lows[1] - lows[0] >= LEAST_STEP)
        found: Mask = has_both & is_far
        return found


def _gauss(distance: Floats, width: float) -> Floats:
    found: Floats = np.exp(-0.5 * (distance / width) ** 2) / (width * np.sqrt(2.0 * np.pi))
    return found
