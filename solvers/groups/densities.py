"""Densities of readings within and between groups, and the cost in nats of readings under them.

A partition of hosts splits the pairs of hosts into those within a group and those between groups.
Each class has its own density of logarithms of readings, a kernel estimate that leaves out the
reading that it is evaluated at (Stone 1984), so that no shape of noise is assumed: one-sided,
bimodal and heavy tails are all the same to it. The cost of a split is the negative log likelihood
of all readings, in nats. Two things keep a continuum of distances from becoming groups: noise makes
one distance longer by at most `_MOST_NOISE`, so a reading within groups outside such a window
counts as rare, and readings between groups must be farther than those within, on average and at
their least.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Logarithms are counted in bins of this width, or wider ones where there would be too many.
_BIN, _MOST_BINS = 0.01, 500
# Widths of the kernel, of which the one is used that describes all readings best.
_BANDWIDTHS = (0.02, 0.06, 0.15)
# Noise multiplies one distance by at most this; a share of the readings may lie outside.
_MOST_NOISE, _RARE = np.log(2.5), 0.01
# A set's one pseudo-reading is as likely anywhere by this share, else like all readings. Without it
# a reading that is like no other would cost more in a small set than among all readings.
_EVEN_SHARE = 0.5
# Distances between groups are farther than those within by at least this.
_LEAST_STEP = np.log(1.06)


class ReadingDensities:
    """Density of log readings, and the cost in nats of splits into within and between groups.

    Attributes:
        one_class_cost: nats of all readings as one class.
        density: (B,) of all readings at each bin.
        bandwidth: of the kernel.

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
        total = max(len(values), 1)
        # One pseudo-reading, as likely anywhere.
        even = 1.0 / (self.count * self.width + 0.5)
        self.one_class_cost = np.inf
        for bandwidth in _BANDWIDTHS:
            kernel = self._build_kernel(bandwidth)
            sums = np.convolve(kernel, self.all, "valid")
            others = np.maximum(sums - kernel[self.count - 1], 0.0)
            density = np.maximum((others + even) / total, 1e-12)
            cost = -float(self.all @ np.log(density))
            if cost < self.one_class_cost:
                self.one_class_cost, self.density = cost, density
                self.bandwidth, self._kernel = bandwidth, kernel
        self._prior = _EVEN_SHARE * even + (1.0 - _EVEN_SHARE) * self.density

    def _build_kernel(self, bandwidth: float) -> Floats:
        """Return the density that a reading adds at bins from 1 - B to B - 1 beside its own."""
        apart = self.width * np.arange(1 - self.count, self.count) / bandwidth
        kernel: Floats = np.exp(-0.5 * apart**2) / (bandwidth * np.sqrt(2.0 * np.pi))
        return kernel

    @functools.cached_property
    def _kernel_matrix(self) -> Floats:
        """(B, B) the density at each bin that a reading in each bin adds."""
        return np.lib.stride_tricks.sliding_window_view(self._kernel, self.count)[::-1].copy()

    def find_bins(self, values: Floats) -> npt.NDArray[np.int32]:
        """Return the histogram bin of each log reading, which may lie outside 0 ... `count` - 1."""
        return np.rint((values - self._lowest) / self.width).astype(np.int32)

    def cost_splits(self, within: Floats) -> Floats:
        """Return the cost in nats of all readings under M groupings, (M,); infinite if not nearer.

        Readings within groups must be clearly nearer than those between.

        Args:
            within: (M, B) readings within groups by bin.
        """
        costs = np.full(len(within), np.inf)
        is_nearer = self._are_nearer(within)
        costs[is_nearer] = self.cost_readings(within[is_nearer], is_one_distance=True)
        costs[is_nearer] += self.cost_readings(self.all - within[is_nearer])
        return costs

    def cost_readings(self, histograms: Floats, *, is_one_distance: bool = False) -> Floats:
        """Return the cost in nats of M sets of readings (such as those within groups), (M,).

        Args:
            histograms: (M, B) readings of M sets (pairs within groups, or between), by bin.
            is_one_distance: whether noise alone spreads the readings of a set.

        Returns:
            (M,), the negative log likelihoods.
        """
        own, _ = self._log_densities(histograms, is_one_distance=is_one_distance)
        costs: Floats = -(histograms * own).sum(axis=1)
        return costs

    def weigh_pairs(self, within: Floats) -> tuple[Floats, Floats]:
        """Return log odds, by bin (B,), that a pair is within a group: if it is now, and if not.

        Args:
            within: (B,) readings within groups by bin.
        """
        own_in, new_in = self._log_densities(within[None], is_one_distance=True)
        own_out, new_out = self._log_densities((self.all - within)[None])
        return (own_in - new_out)[0], (new_in - own_out)[0]

    def _log_densities(
        self, histograms: Floats, *, is_one_distance: bool = False
    ) -> tuple[Floats, Floats]:
        """Return log densities of M sets of readings, (M, B): less the one at a bin, and of all.

        Arguments are those of `cost_readings`.
        """
        totals, sums = histograms.sum(axis=1)[:, None], histograms @ self._kernel_matrix
        others = np.maximum(sums - self._kernel[self.count - 1], 0.0)
        own = np.log((others + self._prior) / (np.maximum(totals - 1.0, 0.0) + 1.0))
        new = np.log((sums + self._prior) / (totals + 1.0))
        window = int(_MOST_NOISE / self.width)
        if is_one_distance and self.count > window:
            # The window of bins that holds most readings.
            counts = np.pad(histograms.cumsum(axis=1), ((0, 0), (1, 0)))
            start = (counts[:, window:] - counts[:, :-window]).argmax(axis=1)[:, None]
            place = np.arange(self.count)[None, :] - start
            is_inside = (place >= 0) & (place < window)
            log_rare = np.log(_RARE / (self.count * self.width + 0.5))
            own, new = (np.where(is_inside, logs, log_rare) for logs in (own, new))
        return own, new

    def _are_nearer(self, within: Floats) -> Mask:
        """Return whether the 10th percentile within groups is clearly below that between, (M,).

        False where there are none of either.
        """
        lows = []
        for histograms in (within, self.all - within):
            sums = histograms.cumsum(axis=1)
            low = (sums >= 0.1 * sums[:, -1:]).argmax(axis=1)
            lows.append(np.where(sums[:, -1] > 0.0, self._middles[low], np.nan))
        nearer: Mask = lows[1] - lows[0] >= _LEAST_STEP
        return nearer
