"""ASC-WFBP (Shi et al. 2021): each gradient normal, merged with the next, or sent simultaneously.

The conditions of their theorem 1 with what is wrong in print corrected. A simultaneous collective
begins when its gradient is ready (as equation 17 has it, not 27, which makes Q3 imply Q1). What two
at once cost is what the line takes, and not a constant gamma. A normal one waits for the one before
it, whose time is that of all that was merged into it.
"""

from __future__ import annotations

from plink.training.overlap.network import Network
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule
from plink.training.overlap.timeline import end_of

_IN_FLIGHT = 2


def asc(profile: Profile, network: Network) -> Schedule:
    """Return two collectives in flight, cut where theorem 1 does not merge."""
    cuts: list[int] = []
    # When the last two ended, and when the line has carried them.
    before_s, last_s, line_free_s = 0.0, 0.0, 0.0
    size_bytes = 0
    for place, ready_s in enumerate(profile.ready_s):
        size_bytes += profile.sizes_bytes[place]
        begin_s = max(ready_s, min(before_s, last_s))
        both = end_of(begin_s, line_free_s, size_bytes, network)
        if place + 1 < len(profile):
            next_s = profile.ready_s[place + 1]
            normal_s = max(ready_s, before_s, last_s)
            is_over = normal_s + network.alone_s(size_bytes) <= next_s
            is_cheap = next_s < normal_s + network.startup_s
            if not is_over and is_cheap and both.end_s >= next_s:
                continue
        cuts.append(place + 1)
        before_s, last_s = max(before_s, last_s), both.end_s
        line_free_s, size_bytes = both.begin_s, 0
    return Schedule(tuple(cuts), _IN_FLIGHT)
