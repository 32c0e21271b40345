"""Colour scale of distances: colours or shades, near ones bright and dense."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

# Near to far. Viridis (Smith and van der Walt, 2015) from its bright end: even steps of
# distance look like even steps of colour, in grey and to colour-blind readers too.
_VIRIDIS = (
    (253, 231, 37),
    (181, 222, 43),
    (110, 206, 88),
    (53, 183, 121),
    (31, 158, 137),
    (38, 130, 142),
    (49, 104, 142),
    (62, 74, 137),
    (72, 40, 120),
    (68, 1, 84),
)
SHADES = "█▓▒░ "
ASCII_SHADES = "#+-. "

# Readings of one kind of path differ by a few percent; a scale narrower than this would make
# structure of their noise.
_MIN_RATIO = 1.25


@dataclass(frozen=True)
class Scale:
    """Logarithmic colour scale from `low` to `high`, both above 0."""

    low: float
    high: float

    def positions(self, values: Values) -> Values:
        """Return the positions of values on the scale, from 0 (low) to 1 (high); NaN stays NaN."""
        span = np.log(self.high / self.low)
        clipped = np.clip(values, self.low, self.high)
        return np.asarray(np.log(clipped / self.low) / span, dtype=np.float64)

    def at(self, position: float) -> float:
        """Return the value at a position of the scale, from 0 (low) to 1 (high)."""
        return float(self.low * (self.high / self.low) ** position)


def scale_for(values_us: Values) -> Scale:
    """Return a logarithmic scale from the 1st to the 99th percentile of values above 0."""
    positive = values_us[values_us > 0.0]
    if not positive.size:
        return Scale(1.0, _MIN_RATIO)
    low, high = (float(value) for value in np.percentile(positive, [1.0, 99.0]))
    missing = _MIN_RATIO / (high / low)
    if missing > 1.0:
        return Scale(low / missing**0.5, high * missing**0.5)
    return Scale(low, high)


def colour(position: float) -> str:
    """Return the colour at a position from 0 (near) to 1 (far), as `#rrggbb`."""
    places = np.linspace(0.0, 1.0, len(_VIRIDIS))
    channels = (np.interp(position, places, channel) for channel in zip(*_VIRIDIS, strict=True))
    return "#" + "".join(f"{round(float(channel)):02x}" for channel in channels)


def shade(position: float, shades: str) -> str:
    """Return the character at a position from 0 (near, dense) to 1 (far, blank)."""
    return shades[min(int(position * len(shades)), len(shades) - 1)]
