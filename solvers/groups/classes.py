"""Two classes of readings, within groups and between them, and what readings cost under both.

A grouping splits the pairs of hosts into those within a group and those between groups. Each class
has its own density of logarithms of readings, a kernel estimate that leaves out the reading that it
is evaluated at (Stone 1984), so that no shape of noise is assumed: one-sided, bimodal and heavy
tails are all the same to it. Noise multiplies, so it has one shape at every distance: where few
readings are within groups, their density is drawn towards that of those between, moved to a lesser
distance. The cost of a grouping is the negative log likelihood of all readings, in nats. Two things
keep a continuum of distances from becoming groups: noise makes one distance longer by at most
`MOST_NOISE`, so a reading within groups outside such a window counts as rare, and readings between
groups must be farther than those within, on average and at their least.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Logarithms are counted in bins of this width, or wider ones where there would be too many.
STEP, _MOST_BINS = 0.01, 500
BANDWIDTHS = (0.02, 0.06, 0.15)
# Noise multiplies one distance by at most this.
MOST_NOISE = np.log(2.5)
# Share of readings within groups that may lie outside.
_RARE = 0.01
# Distances between groups are farther than those within by at least this.
LEAST_STEP = np.log(1.06)
# Pseudo-readings of the density of all readings in that of a class, and of the density between
# groups, moved to the distance within, in that within.
_PRIOR, _SHARED = 1.0, 4.0
# The density of all readings has so many pseudo-readings of a wide kernel.
_WIDE_READINGS, _WIDE = 1.0, 0.3


class Classes:
    """The bins of readings, and the densities of classes of them.

    Args:
        values: (P,) logarithms of the readings.
        most_noise: the widest window of readings within groups.
    """

    def __init__(self, values: Floats, most_noise: float = MOST_NOISE) -> None:
        self.lowest = float(values.min()) if len(values) else 0.0
        spread = float(np.ptp(values)) if len(values) else 0.0
        self.step = max(STEP, spread / _MOST_BINS)
        self.count = round(spread / self.step) + 1
        self.all = np.bincount(self.bins_of(values), minlength=self.count).astype(np.float64)
        self.middles: Floats = self.step * np.arange(self.count, dtype=np.float64)
        self._window = int(min(most_noise / self.step, self.count))
        self._log_rare = float(np.log(_RARE / (self.count * self.step + 0.5)))
        apart = np.abs(np.subtract.outer(np.arange(self.count), np.arange(self.count)))
        curves = [_gauss(self.middles, width) for width in (*BANDWIDTHS, _WIDE)]
        self._kernels = [(curve[apart], float(curve[0])) for curve in curves[:-1]]
        total = max(len(values), 1)
        wide = _WIDE_READINGS * (curves[-1][apart] @ self.all) / total
        self.one_class_cost = np.inf
        for width, (kernel, zero) in zip(BANDWIDTHS, self._kernels, strict=True):
            others = np.maximum(kernel @ self.all - zero, 0.0)
            density = np.maximum((others + wide) / (total - 1 + _WIDE_READINGS), 1e-12)
            cost = -float(self.all @ np.log(density))
            if cost < self.one_class_cost:
                self.one_class_cost, self.density, self.bandwidth = cost, density, width

    def bins_of(self, values: Floats) -> npt.NDArray[np.int32]:
        """Return the bin of each value, which may lie outside 0 ... `count` - 1."""
        return np.rint((values - self.lowest) / self.step).astype(np.int32)

    def costs(self, within: Floats, between: Floats) -> Floats:
        """Return (M,) the cost in nats of M splits of the readings in two classes.

        Args:
            within, between: (M, B) readings of each class by bin.
        """
        found: Floats = self._logs(within, self._shared(within, between))[0]
        return found + self._logs(between)[0]

    def cost_of_one(self, histogram: Floats) -> float:
        """Return the cost in nats of one class between groups.

        Args:
            histogram: (B,) readings by bin.
        """
        return float(self._logs(histogram[None])[0][0])

    def odds(self, within: Floats) -> tuple[float, Floats, Floats]:
        """Return the cost of a split, and the log odds of being within for each bin.

        Args:
            within: (B,) readings within groups by bin.

        Returns:
            the cost, infinite where the classes are no groups; (B,) the log odds of pairs that
            are within a group, and of those that are not.
        """
        between = self.all - within
        if not self.is_nearer(within[None], between[None])[0]:
            return np.inf, np.zeros(self.count), np.zeros(self.count)
        shared = self._shared(within[None], between[None])
        cost_in, own_in, new_in = self._logs(within[None], shared)
        cost_out, own_out, new_out = self._logs(between[None])
        cost = float(cost_in[0] + cost_out[0])
        return cost, own_in[0] - new_out[0], new_in[0] - own_out[0]

    def _shared(self, within: Floats, between: Floats) -> Floats:
        """Return (M, B) the density between groups, moved to the distances within.

        Args:
            within, between: (M, B) readings of each class by bin.
        """
        means = [
            histograms @ self.middles / np.maximum(histograms.sum(axis=1), 1.0)
            for histograms in (within, between)
        ]
        moved = np.rint((means[1] - means[0]) / self.step).astype(np.int64)
        density = between @ self._kernels[1][0] / np.maximum(between.sum(axis=1), 1.0)[:, None]
        source = np.arange(self.count)[None, :] + moved[:, None]
        is_inside = (source >= 0) & (source < self.count)
        density = np.take_along_axis(density, np.clip(source, 0, self.count - 1), axis=1)
        found: Floats = np.where(is_inside, density, 0.0)
        return found

    def _logs(
        self, histograms: Floats, shared: Floats | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Return the costs of classes, and their log densities at own readings and at new ones.

        Args:
            histograms: (M, B) readings of each class by bin.
            shared: (M, B) of readings within groups, what is known of them beside themselves.
        """
        totals = histograms.sum(axis=1)[:, None]
        prior, pseudo, inside = _PRIOR * self.density, _PRIOR, None
        if shared is not None:
            prior, pseudo = prior + _SHARED * shared, pseudo + _SHARED
            inside = self._windows(histograms)
        best: tuple[Floats, Floats, Floats] | None = None
        for kernel, zero in self._kernels:
            seen = histograms @ kernel
            own = np.log(
                (np.maximum(seen - zero, 0.0) + prior) / (np.maximum(totals - 1.0, 0.0) + pseudo)
            )
            new = np.log((seen + prior) / (totals + pseudo))
            if inside is not None:
                own, new = (np.where(inside, logs, self._log_rare) for logs in (own, new))
            costs = -(histograms * own).sum(axis=1)
            if best is None:
                best = costs, own, new
            else:
                is_less = (costs < best[0])[:, None]
                best = (
                    np.minimum(costs, best[0]),
                    np.where(is_less, own, best[1]),
                    np.where(is_less, new, best[2]),
                )
        assert best is not None  # noqa: S101  for the type checker
        return best

    def _windows(self, histograms: Floats) -> Mask:
        """Return (M, B) which bins lie in the window of noise that holds most readings."""
        if self.count <= self._window:
            return np.ones(histograms.shape, dtype=bool)
        sums = np.concatenate([np.zeros((len(histograms), 1)), histograms.cumsum(axis=1)], axis=1)
        start = (sums[:, self._window :] - sums[:, : -self._window]).argmax(axis=1)[:, None]
        bins = np.arange(self.count)[None, :]
        inside: Mask = (bins >= start) & (bins < start + self._window)
        return inside

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


def _gauss(apart: Floats, width: float) -> Floats:
    found: Floats = np.exp(-0.5 * (apart / width) ** 2) / (width * np.sqrt(2.0 * np.pi))
    return found
