"""When the last gradient is reduced at the soonest, whatever the schedule."""

from __future__ import annotations

import numpy as np

from plink.training.overlap.network import Network
from plink.training.overlap.profile import Floats, Profile


def lower_bound_s(profile: Profile, network: Network) -> float:
    """Return a lower bound on every schedule's end, for any number in flight and any sharing."""
    return float(least_ends_s(profile, network)[0])


def least_ends_s(profile: Profile, network: Network) -> Floats:
    """(L,): when all is reduced at the soonest, for the sake of each gradient and later ones.

    What becomes ready at some time or later is carried after it: by the line in so many bytes, and
    not without one startup. For all gradients this is at least the bound by which Shi et al. (2021,
    equations 41 to 43) define their greatest speedup, which looks at the first gradient and at the
    sum alone.
    """
    left_bytes = profile.total_bytes - profile.before_bytes[:-1]
    ends_s = np.array(profile.ready_s) + network.startup_s + network.line_s_per_byte * left_bytes
    return np.asarray(np.maximum.accumulate(ends_s[::-1])[::-1])
