"""Schedules to choose from, as an engine runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from plink.training.overlap.asc import asc
from plink.training.overlap.heuristics import ddp, lazy, mg_wfbp, single, wfbp
from plink.training.overlap.network import Network
from plink.training.overlap.optimal import optimal
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule
from plink.training.overlap.timeline import communicated_s

AUTO = "auto"
PLANNED = ("asc", "lazy", "mg-wfbp", "optimal")
"""What needs a network: chosen anew as it changes."""

# Lazy all-reduce waits for such a part of all bytes: its paper does not say for how many.
_PARTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
# Schedules that count each collective with such a share of the backward pass end hardly later, and
# have few.
_SPARING = (0.002, 0.01)
# Ranks wait while schedules are made. With more gradients than that the proof that none is better
# may take seconds, and a tenth of one without.
_MOST_PROVEN = 64
_WIDTH = 4


@dataclass(frozen=True)
class Candidate:
    """A schedule by name.

    Args:
        name: how it was made.
        schedule: with as many collectives in flight as the engine has, whatever its authors mean.
        communicated_s: when the last gradient is reduced, as predicted, what collectives cost
            beside the line included.
    """

    name: str
    schedule: Schedule
    communicated_s: float


def candidates(
    profile: Profile,
    network: Network,
    in_flight: int,
    wanted: str = AUTO,
    per_collective_s: float = 0.0,
) -> list[Candidate]:
    """Return the schedules to choose from, the fastest first; of equals the one with fewest cuts.

    Args:
        profile: of the backward pass.
        network: what collectives take.
        in_flight: of the engine.
        wanted: "auto" for all, or one of `PLANNED`.
        per_collective_s: what each costs beyond what the network says.
    """
    width = None if len(profile) <= _MOST_PROVEN else _WIDTH
    dear = _dearer(network, per_collective_s)
    made: dict[str, Schedule] = {}
    if wanted in (AUTO, "asc"):
        made["asc"] = asc(profile, dear)
    if wanted in (AUTO, "mg-wfbp"):
        made["mg-wfbp"] = mg_wfbp(profile, dear)
    if wanted in (AUTO, "optimal"):
        made["optimal"] = optimal(profile, dear, in_flight, width=width)
    if wanted == AUTO:
        made.update({"single": single(profile), "wfbp": wfbp(profile), "ddp": ddp(profile)})
        for share in _SPARING:
            sparing = _dearer(dear, share * profile.ready_s[-1])
            made[f"optimal, sparing {100 * share:g} %"] = optimal(
                profile, sparing, in_flight, width=_WIDTH
            )
    if wanted in (AUTO, "lazy"):
        thetas_bytes = sorted({profile.total_bytes // part for part in _PARTS})
        made.update({f"lazy({theta})": lazy(profile, theta) for theta in thetas_bytes})
    found = []
    for name, schedule in made.items():
        run = replace(schedule, in_flight=in_flight)
        ends_s = communicated_s(profile, run, network) + per_collective_s * len(run.cuts)
        found.append(Candidate(name, run, ends_s))
    return sorted(found, key=lambda one: (one.communicated_s, len(one.schedule.cuts)))


def _dearer(network: Network, by_s: float) -> Network:
    return replace(network, exclusive_s=network.exclusive_s + by_s)


def fewest_within(found: Sequence[Candidate], later_s: float) -> Candidate:
    """Return the one with the fewest cuts of those that end at most so much later than the first.

    Args:
        found: the one that ends soonest first.
        later_s: not negative.
    """
    latest_s = found[0].communicated_s + later_s
    near = [one for one in found if one.communicated_s <= latest_s]
    return min(near, key=lambda one: len(one.schedule.cuts))
