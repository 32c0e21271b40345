"""Rates and end times of flows that start together and share links max-min fairly, as TCP does.

Rates are max-min fair: all rise together until a link is full, whose flows stay at that while the
others rise on (Bertsekas and Gallager, Data Networks, 1992, §6.5.2). What a flow leaves when it
ends goes to the rest.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

# A flow with less than this share of its bytes left has ended: flows that end at about the same
# time do so in one step.
_REST = 1e-3


def ends_s(size_bytes: Floats, crossed: Indices, rate_bytes_s: Floats) -> Floats:
    """Return when each flow ends, in seconds, if flows share links max-min fairly, (F,).

    Args:
        size_bytes: (F,) what it has to send.
        crossed: (F, K) the links that it crosses, 0 to L-1; -1 for none.
        rate_bytes_s: (L,) what they carry; infinite where unlimited.
    """
    left = size_bytes.astype(np.float64)
    ends = np.zeros(len(left))
    is_open = left > 0.0
    now_s = 0.0
    while is_open.any():
        rates = fair_rates(crossed[is_open], rate_bytes_s)
        step_s = float((left[is_open] / rates).min())
        now_s += step_s
        sent = np.zeros(len(left))
        sent[is_open] = rates * step_s if step_s else left[is_open] * np.isinf(rates)
        left -= sent
        is_done = is_open & (left <= _REST * size_bytes)
        ends[is_done] = now_s
        is_open &= ~is_done
    return ends


def fair_rates(crossed: Indices, rate_bytes_s: Floats) -> Floats:
    """Return max-min fair rates of flows in bytes per second, (F,); arguments as for `ends_s`."""
    links = len(rate_bytes_s)
    rates = np.zeros(len(crossed))
    is_rising = np.ones(len(crossed), dtype=bool)
    room = rate_bytes_s.astype(np.float64)
    while is_rising.any():
        rising = np.bincount(crossed[is_rising].ravel() + 1, minlength=links + 1)[1:]
        rise = np.divide(room, rising, out=np.full(links, np.inf), where=rising > 0)
        step = float(rise.min(initial=np.inf))
        if np.isinf(step):
            rates[is_rising] = np.inf
            break
        rates[is_rising] += step
        # The last entry is for no link.
        is_full = np.append(rise <= step * (1.0 + 1e-12), False)
        room = np.where(rising > 0, room - step * rising, room)
        is_rising &= ~is_full[crossed].any(axis=1)
    return rates
