"""Turn timings into equations for a network's latency and rates.

A collective ends when it would alone, or, if that is later, when the line has carried it. Which of
both it is depends on the network looked for, so that the equations are those near a guess.
"""

from __future__ import annotations

import numpy as np

from plink.training.overlap.network import Network
from plink.training.overlap.profile import Floats
from plink.training.overlap.regression import Rows
from plink.training.overlap.timings import Timings

# Unknowns: latency, exclusive part, time per byte of the line, and what one alone takes beyond it.
UNKNOWNS = 4


def unknowns_of(network: Network) -> Floats:
    """Return (4,) as the equations have them."""
    beyond = network.s_per_byte - network.line_s_per_byte
    return np.array([network.latency_s, network.exclusive_s, network.line_s_per_byte, beyond])


def build_network(unknowns: Floats) -> Network:
    """Return the network whose unknowns these are, none negative."""
    latency_s, exclusive_s, line_s, beyond_s = (float(one) for one in unknowns)
    return Network(latency_s, exclusive_s, line_s + beyond_s, line_s)


def equations(timings: Timings, weights: Floats, unknowns: Floats) -> Rows:
    """Return an equation for each collective, in the order of steps.

    Args:
        timings: of steps.
        weights: (S,) of each step's.
        unknowns: (4,) near which they hold.
    """
    steps, count = timings.begun_s.shape
    coefficients = np.empty((steps, count, UNKNOWNS))
    targets = np.empty((steps, count))
    # When the line is free of all before: a time, and what has to be added of each unknown.
    free_s = np.full(steps, -np.inf)
    last_s = np.full(steps, -np.inf)
    free = np.zeros((steps, UNKNOWNS))
    for place in range(count):
        size = timings.sizes_bytes[place]
        begun_s, ended_s = timings.begun_s[:, place], timings.ended_s[:, place]
        # What has ended has left the line.
        idle = (begun_s >= last_s) | (begun_s + unknowns[0] >= free_s + free @ unknowns)
        last_s = np.maximum(last_s, ended_s)
        at_line_s = np.where(idle, begun_s, free_s)
        carried = np.where(idle[:, None], np.array([1.0, 0.0, 0.0, 0.0]), free)
        carried = carried + np.array([0.0, 1.0, size, 0.0])
        alone = np.array([1.0, 1.0, size, size])
        is_late = ~idle & (at_line_s + carried @ unknowns > begun_s + alone @ unknowns)
        coefficients[:, place] = np.where(is_late[:, None], carried, alone)
        targets[:, place] = ended_s - np.where(is_late, at_line_s, begun_s)
        # One that has waited ends as the line is free, which is then known better than calculated.
        free_s = np.where(is_late, ended_s, at_line_s)
        free = np.where(is_late[:, None], 0.0, carried)
    flat = coefficients.reshape(-1, UNKNOWNS)
    found_s = targets.ravel()
    durations_s = timings.durations_s.ravel()
    # Errors are shares of how long a collective takes, not of the part that the equation has.
    guessed_s = flat @ unknowns + durations_s - found_s
    scales_s = np.maximum(guessed_s, 1e-3 * np.abs(durations_s))
    scales_s = np.maximum(scales_s, 1e-9)
    return Rows(flat, scales_s, found_s, np.repeat(weights, count))
