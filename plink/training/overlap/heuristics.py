"""Schedules that others use, to begin with and to compare with.

Each is given a profile, most a network, too. `in_flight` is what their authors mean.
"""

from __future__ import annotations

from plink.training.overlap.network import Network
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule

# Of PyTorch's DistributedDataParallel.
DDP_BUCKET_BYTES = 25 << 20
DDP_FIRST_BUCKET_BYTES = 1 << 20


def wfbp(profile: Profile) -> Schedule:
    """Return each gradient by itself as soon as it is ready, one after the other (Poseidon)."""
    return Schedule(tuple(range(1, len(profile) + 1)), 1)


def single(profile: Profile) -> Schedule:
    """Return all in one collective, when the last is ready: nothing overlaps."""
    return Schedule((len(profile),), 1)


def ddp(
    profile: Profile,
    bucket_bytes: int = DDP_BUCKET_BYTES,
    first_bytes: int = DDP_FIRST_BUCKET_BYTES,
    in_flight: int = 2,
) -> Schedule:
    """PyTorch's buckets: each is closed when it has so many bytes at least.

    Args:
        profile: of the backward pass.
        bucket_bytes: `bucket_cap_mb` of `DistributedDataParallel`.
        first_bytes: of the first, which is smaller so that something begins soon.
        in_flight: which the engine decides, since all buckets are posted when they are full.
    """
    cuts: list[int] = []
    size_bytes, cap_bytes = 0, first_bytes
    for place, added_bytes in enumerate(profile.sizes_bytes, 1):
        size_bytes += added_bytes
        if size_bytes >= cap_bytes:
            cuts.append(place)
            size_bytes, cap_bytes = 0, bucket_bytes
    return _close_schedule(cuts, profile, in_flight)


def lazy(profile: Profile, theta_bytes: float, in_flight: int = 1) -> Schedule:
    """GradientFlow's lazy all-reduce (Sun et al. 2019, section 3.1): when more than theta wait.

    Args:
        profile: of the backward pass.
        theta_bytes: the threshold, which the paper does not give.
        in_flight: as of the engine.
    """
    cuts: list[int] = []
    size_bytes = 0
    for place, added_bytes in enumerate(profile.sizes_bytes, 1):
        size_bytes += added_bytes
        if size_bytes > theta_bytes:
            cuts.append(place)
            size_bytes = 0
    return _close_schedule(cuts, profile, in_flight)


def mg_wfbp(profile: Profile, network: Network) -> Schedule:
    """MG-WFBP: the next gradient is merged if it comes before the collective's startup is over.

    Shi et al. (2021), equation 5. Greedy, one collective at a time.
    """
    cuts: list[int] = []
    free_s, size_bytes = 0.0, 0
    for place, ready_s in enumerate(profile.ready_s):
        size_bytes += profile.sizes_bytes[place]
        begin_s = max(ready_s, free_s)
        is_last = place + 1 == len(profile)
        if is_last or profile.ready_s[place + 1] >= begin_s + network.startup_s:
            cuts.append(place + 1)
            free_s, size_bytes = begin_s + network.alone_s(size_bytes), 0
    return Schedule(tuple(cuts), 1)


def _close_schedule(cuts: list[int], profile: Profile, in_flight: int) -> Schedule:
    """The last collective has what is left."""
    if not cuts or cuts[-1] != len(profile):
        cuts.append(len(profile))
    return Schedule(tuple(cuts), in_flight)
