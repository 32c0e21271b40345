"""ASC-WFBP's algorithm 1 (Shi et al. 2021) to the letter, to compare with.

It is not what its authors mean: line 8 adds the time of another layer than equation 21, line 12
adds a time of the backward pass to one at which that is over, so that its condition implies the one
before; normal layers do not wait; sizes change at every call of the procedure; a layer into which
others were merged forgets when it may begin. Where the print reads what it does not define (beyond
layer L, the beginning of layer 1) it is 0 here.
"""

from __future__ import annotations

from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule

NORMAL, MERGED, SIMULTANEOUS = "normal", "merged", "simultaneous"


def asc_printed(profile: Profile, a_s: float, b_s_per_byte: float, gamma: float) -> Schedule:
    """Return the schedule of the types that algorithm 1 yields, with two collectives in flight.

    Args:
        profile: of the backward pass; its first gradient is that of layer L.
        a_s: of equation 3, more than 0.
        b_s_per_byte: of equation 3.
        gamma: of equation 9.
    """
    types = layer_types(profile, a_s, b_s_per_byte, gamma)
    cuts = [place for place, kind in enumerate(types, 1) if kind != MERGED]
    return Schedule((*cuts,) if cuts[-1:] == [len(profile)] else (*cuts, len(profile)), 2)


def layer_types(profile: Profile, a_s: float, b_s_per_byte: float, gamma: float) -> list[str]:
    """Return the layer type of each gradient, in the profile's order: lines 1 to 19."""
    return _Printed(profile, a_s, b_s_per_byte, gamma).types()


class _Printed:
    """Arrays have the print's indices, 1 to L; 0 and L + 1 are what it does not define."""

    def __init__(self, profile: Profile, a_s: float, b: float, gamma: float) -> None:
        self._a, self._b, self._gamma = a_s, b, gamma
        self._layers = len(profile)
        order = [self._layers - layer for layer in range(1, self._layers + 1)]
        before_s = (0.0, *profile.ready_s[:-1])
        self._t_b = self._array([profile.ready_s[place] - before_s[place] for place in order])
        self._m = self._array([float(profile.sizes_bytes[place]) for place in order])
        self._tau_b = self._array([0.0] * self._layers)
        for layer in range(self._layers - 1, 1, -1):
            self._tau_b[layer] = self._tau_b[layer + 1] + self._t_b[layer + 1]
        self._types = [NORMAL] * (self._layers + 2)

    def types(self) -> list[str]:
        """Return lines 6 to 19."""
        t_c, tau_c = self._communication_times()
        for layer in range(self._layers, 1, -1):
            ready_s = self._tau_b[layer - 1] + self._t_b[layer - 1]
            q1 = tau_c[layer] + t_c[layer] <= self._tau_b[layer] + self._t_b[layer - 1]
            if q1:
                self._types[layer] = NORMAL
                continue
            q2 = ready_s < tau_c[layer] + self._a
            penalty_s = self._penalty_s(layer, tau_c)
            q3 = tau_c[layer] + self._t_b[layer] + t_c[layer] + penalty_s < ready_s
            self._types[layer] = MERGED if q2 and not q3 else SIMULTANEOUS
            t_c, tau_c = self._communication_times()
        self._types[1] = SIMULTANEOUS
        return self._types[self._layers : 0 : -1]

    def _communication_times(self) -> tuple[list[float], list[float]]:
        """Return lines 20 to 36, which change the sizes."""
        t_c, tau_c = self._array([0.0] * self._layers), self._array([0.0] * self._layers)
        for layer in range(self._layers, 0, -1):
            ready_s = self._tau_b[layer] + self._t_b[layer]
            kind = self._types[layer]
            if kind == MERGED:
                self._m[layer - 1] += self._m[layer]
                self._m[layer] = 0.0
                next_s = self._tau_b[layer - 1] + self._t_b[layer - 1]
                tau_c[layer - 1] = max(tau_c[layer], next_s)
                t_c[layer - 1] = self._a + self._b * self._m[layer - 1]
                continue
            tau_c[layer] = ready_s
            t_c[layer] = self._a + self._b * self._m[layer]
            if kind == SIMULTANEOUS:
                t_c[layer] += self._penalty_s(layer, tau_c)
        return t_c, tau_c

    def _penalty_s(self, layer: int, tau_c: list[float]) -> float:
        """Equation 13, of the layer before on this one."""
        before = self._b * self._m[layer + 1]
        share = 1.0 - (tau_c[layer] - tau_c[layer + 1]) / (self._a + before)
        return (self._gamma - 1.0) * before * share

    @staticmethod
    def _array(values: list[float]) -> list[float]:
        return [0.0, *values, 0.0]
