"""Point of least norm in the convex hull of points added one by one (Wolfe 1976)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

# Less than this is no weight.
_LEAST_WEIGHT = 1e-9

# Points that are kept, those of greatest weight.
_MOST_POINTS = 192


class LeastNorm:
    """Convex hull of added points, with the weights of its point nearest to the origin.

    Args:
        size: size of each point.
    """

    def __init__(self, size: int) -> None:
        self._points = np.empty((0, size))
        self._products = np.empty((0, 0))
        self._weights = np.empty(0)

    def __len__(self) -> int:
        return len(self._points)

    @property
    def nearest(self) -> Vector:
        """Point of the hull nearest to the origin; 0 without points."""
        return self._weights @ self._points

    @property
    def norm_squared(self) -> float:
        """Squared norm of the hull's point nearest to the origin."""
        return float(self._weights @ self._products @ self._weights)

    def add(self, point: Vector) -> None:
        """Add a point to the hull; drop points whose weight becomes zero."""
        if len(self) >= _MOST_POINTS:
            self._keep(self._weights > self._weights.min())
        across = self._points @ point
        self._points = np.vstack([self._points, point])
        self._products = np.block(
            [[self._products, across[:, None]], [across, np.array([point @ point])]]
        )
        self._weights = np.append(self._weights, 0.0 if len(across) else 1.0)
        while True:
            wanted = self._least_of_the_plane()
            if wanted is None:
                return
            low = wanted <= _LEAST_WEIGHT
            if not low.any():
                self._weights = wanted
                return
            falling = self._weights[low] - wanted[low]
            part = np.min(self._weights[low] / np.where(falling > 0.0, falling, np.inf))
            weights = self._weights + min(1.0, float(part)) * (wanted - self._weights)
            keep = weights > _LEAST_WEIGHT
            if keep.all():
                keep[weights.argmin()] = False
            self._weights = weights
            self._keep(keep)

    def _least_of_the_plane(self) -> Vector | None:
        """Return weights of the points' least-norm affine combination; None if ill-conditioned."""
        count = len(self)
        if count == 1:
            return np.ones(1)
        # With 1 added to all products, what solves them for 1 is in proportion.
        scale = max(1.0, float(self._products.trace()) / count)
        matrix = self._products + scale + 1e-10 * scale * np.eye(count)
        try:
            found = np.linalg.solve(matrix, np.ones(count)).astype(np.float64)
        except np.linalg.LinAlgError:
            return None
        total = float(found.sum())
        return found / total if total > 0.0 else None

    def _keep(self, keep: npt.NDArray[np.bool_]) -> None:
        self._points = self._points[keep]
        self._products = self._products[np.ix_(keep, keep)]
        weights = self._weights[keep]
        self._weights = weights / weights.sum() if len(weights) else weights
