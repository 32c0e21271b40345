"""Learn the times of collectives on the current network while they run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from plink.training.overlap.line_equations import build_network, equations, unknowns_of
from plink.training.overlap.network import Network
from plink.training.overlap.profile import Floats
from plink.training.overlap.regression import Regression, Rows, robust, weighted_median
from plink.training.overlap.timings import Timings

# What the line takes of a byte, as a share of what one collective does: where to begin.
_LINE_SHARES = (0.7,)
# By which share a network that is known differs from one window to the next.
_STAYS = 0.3
# An error beyond so much says nothing further of a guess.
_MOST_ERROR = 0.5


@dataclass(frozen=True)
class FitOptions:
    """Options of the fit of a network to timings.

    Args:
        windows: so many are remembered.
        forgetting: what a window counts, as a share of the one after it.
        changed: the network is another if collectives miss it by that share.
        deviations: or by so many standard deviations, if that is more.
        most_error: startup and rate are told apart if neither's standard error is more than this
            share of what a collective takes,
        most_startup_error: and the startup's not more than this share of itself: schedules may have
            many collectives more than those that were timed.
        most_rows: collectives of a window that count at most, the latest ones.
    """

    windows: int = 4
    forgetting: float = 0.5
    changed: float = 0.1
    deviations: float = 3.0
    most_error: float = 0.1
    most_startup_error: float = 0.3
    most_rows: int = 2000


@dataclass(frozen=True)
class Fitted:
    """Knowledge about a network.

    Args:
        network: what timings and the prediction say together.
        has_startup: startup and rate are told apart, or were since the network is this one. With
            collectives of one size, or hardly different ones, they cannot be; then what the
            prediction says of one decides.
        has_line: what several at once take is known.
        is_new: what was known before does not hold any more, and is forgotten.
        deviation: of a collective's time, as a share of it, without outliers.
    """

    network: Network
    has_startup: bool
    has_line: bool
    is_new: bool
    deviation: float


class NetworkFit:
    """Fit of one plan's network: another plan is another network.

    Args:
        prediction: what collectives take before any was timed.
        options: how it learns.
    """

    def __init__(self, prediction: Network, options: FitOptions | None = None) -> None:
        self._options = options or FitOptions()
        self._windows: list[Timings] = []
        self._probes: Timings | None = None
        # Windows since they were taken.
        self._probes_age = 0
        self._stacked: list[tuple[Timings, Floats]] = []
        self.fitted = Fitted(prediction, False, False, False, 0.0)
        self._prediction = prediction
        # Whether the network in `fitted` was told apart since it is this one.
        self._is_known = False

    def add(self, timings: Timings) -> Fitted:
        """A further window has been timed: durations are the least over ranks (`shortened_to`)."""
        timings = self._latest(timings)
        if not len(timings):
            return replace(self.fitted, is_new=False)
        # Under another schedule what is missed may be the model's fault.
        alike = [
            window
            for window in self._windows
            if np.array_equal(window.sizes_bytes, timings.sizes_bytes)
        ]
        is_new = bool(alike) and self._has_changed(timings, alike)
        if is_new:
            self._windows, self._is_known = [], False
            self._prediction = self.fitted.network
            # Those of just now are of this network, where the window before was of two.
            if self._probes_age > 0:
                self._probes = None
        self._probes_age += 1
        self._windows = [*self._windows, timings][-self._options.windows :]
        return self._fit(is_new=is_new)

    def add_probes(self, timings: Timings) -> Fitted:
        """Collectives of many sizes have been timed: they count as long as the network is this."""
        self._probes, self._probes_age = timings, 0
        return self._fit(is_new=False)

    def _fit(self, *, is_new: bool) -> Fitted:
        self._stack()
        scales = self._scales()
        found = self._best(scales)
        has_startup, has_line = self._told_apart(found, scales)
        self._is_known |= has_startup
        network = build_network(found.unknowns)
        self.fitted = Fitted(network, self._is_known, has_line, is_new, found.deviation)
        return self.fitted

    def _has_changed(self, timings: Timings, windows: list[Timings]) -> bool:
        """Whether these take longer or shorter than remembered ones, small ones or large ones.

        Both are seen beside what is known, whose own error does not count so.
        """
        allowed = max(self._options.changed, self._options.deviations * self.fitted.deviation)
        before = np.median([self._misses(window) for window in windows], axis=0)
        return bool(np.abs(self._misses(timings) - before).max() > allowed)

    def _misses(self, timings: Timings) -> Floats:
        """(2,) by which share collectives take longer than is known, the small and the large half.

        Small ones tell of the startup, large ones of the rate.
        """
        unknowns = unknowns_of(self.fitted.network)
        rows = equations(timings, np.ones(len(timings.begun_s)), unknowns)
        errors = rows.errors(unknowns)
        sizes_bytes = np.tile(timings.sizes_bytes, timings.begun_s.shape[0])
        middle = np.median(timings.sizes_bytes)
        halves = (errors[sizes_bytes <= middle], errors[sizes_bytes >= middle])
        return np.array([np.median(half) for half in halves])

    def _latest(self, timings: Timings) -> Timings:
        steps = max(1, self._options.most_rows // max(1, timings.sizes_bytes.size))
        return Timings(timings.sizes_bytes, timings.begun_s[-steps:], timings.ended_s[-steps:])

    def _best(self, scales: Floats) -> Regression:
        believed = self.fitted.network if self._is_known else self._prediction
        bounded = np.minimum(unknowns_of(believed), 10.0 * scales)
        begins = [unknowns_of(self.fitted.network), *self._guesses()]
        found = [robust(self._rows, begin, bounded, scales) for begin in begins]
        return min(found, key=self._loss)

    def _guesses(self) -> list[Floats]:
        """Networks to begin with, in which more or less of two at once is the line's."""
        last = self._last
        sizes_bytes = np.maximum(last.sizes_bytes, 1.0)
        startup_s = 0.5 * float(np.median(last.durations_s, axis=0).min())
        medians_s = np.median(last.durations_s, axis=0)
        largest = int(np.argmax(sizes_bytes))
        s_per_byte = 0.8 * float(medians_s[largest] / sizes_bytes[largest])
        return [
            np.array([startup_s, 0.1 * startup_s, share * s_per_byte, (1.0 - share) * s_per_byte])
            for share in _LINE_SHARES
        ]

    def _scales(self) -> Floats:
        """Return how much unknowns may differ from the current belief."""
        if self._is_known:
            known = self.fitted.network
            startup_s, per_byte_s = _STAYS * known.startup_s, _STAYS * known.s_per_byte
            least = np.array([1e-9, 1e-9, 1e-15, 1e-15])
            return np.asarray(np.maximum([startup_s, startup_s, per_byte_s, per_byte_s], least))
        last = self._last
        medians_s = np.median(last.durations_s, axis=0)
        predicted = self._prediction
        startup_s = max(predicted.startup_s, float(medians_s.min()), 1e-9)
        rate_s = float((medians_s / np.maximum(last.sizes_bytes, 1.0)).min())
        per_byte_s = max(predicted.s_per_byte, rate_s, 1e-15)
        return np.array([startup_s, startup_s, per_byte_s, per_byte_s])

    def _rows(self, unknowns: Floats) -> Rows:
        parts = [equations(timings, weights, unknowns) for timings, weights in self._stacked]
        return Rows(
            np.concatenate([part.coefficients for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.targets for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )

    def _stack(self) -> None:
        """Stack the remembered windows, those of one schedule in one piece."""
        alike: dict[bytes, list[tuple[Timings, float]]] = {}
        for age, window in enumerate(reversed(self._windows)):
            key = window.sizes_bytes.tobytes()
            alike.setdefault(key, []).append((window, self._options.forgetting**age))
        if self._probes is not None:
            alike[b"probes"] = [(self._probes, 1.0)]
        self._stacked = [
            (
                Timings(
                    windows[0][0].sizes_bytes,
                    np.concatenate([window.begun_s for window, _ in windows]),
                    np.concatenate([window.ended_s for window, _ in windows]),
                ),
                np.concatenate([np.full(len(one.begun_s), weight) for one, weight in windows]),
            )
            for windows in alike.values()
        ]

    def _loss(self, found: Regression) -> float:
        rows = self._rows(found.unknowns)
        errors = np.minimum(np.abs(rows.errors(found.unknowns)), _MOST_ERROR)
        return float(weighted_median(errors, rows.weights) + errors.mean())

    def _told_apart(self, found: Regression, scales: Floats) -> tuple[bool, bool]:
        """Return whether startup and rate are, and whether the line's rate is known."""
        last = self._last
        noise = max(found.deviation, 0.01)
        # What rows do not tell at all has an error without bounds.
        covariance = noise**2 * np.linalg.inv(found.information + 1e-9 * np.eye(4))
        duration_s = float(np.median(last.durations_s))
        size_bytes = float(np.median(last.sizes_bytes))
        startup = np.array([scales[0], scales[1], 0.0, 0.0])
        rate = size_bytes * np.array([0.0, 0.0, scales[2], scales[3]])
        line = np.array([0.0, 0.0, scales[2], 0.0])
        errors_s = [float(np.sqrt(one @ covariance @ one)) for one in (startup, rate, line)]
        most_s = self._options.most_error * duration_s
        s_per_byte = float(found.unknowns[2] + found.unknowns[3])
        has_line = errors_s[2] <= 2.5 * self._options.most_error * s_per_byte
        startup_s = float(found.unknowns[0] + found.unknowns[1])
        most_startup_s = min(most_s, self._options.most_startup_error * startup_s)
        return errors_s[0] <= most_startup_s and errors_s[1] <= most_s, has_line

    @property
    def _last(self) -> Timings:
        probes = [] if self._probes is None else [self._probes]
        return [*probes, *self._windows][-1]
