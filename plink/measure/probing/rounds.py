"""Which hosts of a run meet, and in which round."""

from __future__ import annotations

from collections.abc import Sequence

from plink.files.measurement import FollowedSample, RoundSample, Sample
from plink.measure.probing.limits import FOLLOWED_ROUNDS
from probes.rounds import round_robin, rounds_in_all, sampled_rounds
from probes.samples import Rounds
from solvers.sampling.sampler import usual_share

# More hosts, and the user is told what all rounds are.
_MANY_HOSTS = 256


def chosen_sample(listed: int, rounds: int | None, seed: int) -> Sample | None:
    """The sample that a run over `listed` hosts goes through; None for all rounds.

    Args:
        rounds: how many were asked for, None for all, `FOLLOWED_ROUNDS` for pairs that the readings
            ask for.
    """
    if rounds == FOLLOWED_ROUNDS:
        return FollowedSample(usual_share(listed), seed)
    in_all = rounds_in_all(listed)
    return None if rounds is None or rounds >= in_all else RoundSample(rounds, in_all, seed)


def rounds_among(listed: Sequence[str], present: Sequence[str], sample: Sample | None) -> Rounds:
    """The rounds in which the hosts of a run meet.

    Args:
        listed: the names of all hosts that were listed. A sample is drawn of them, so that it is
            the same whichever of them can be reached.
        present: the names of those that take part, in the order of the list.
        sample: None for a tournament in which every two meet. Pairs that the readings ask for are
            not known before.

    Returns:
        rounds of pairs of indices in `present`, (lower, higher).
    """
    if sample is None:
        return round_robin(len(present))
    if isinstance(sample, FollowedSample):
        return []
    index = {name: i for i, name in enumerate(present)}
    places = [index.get(name) for name in listed]
    return [
        [
            (a, b)
            for a, b in ((places[i], places[j]) for i, j in pairs)
            if a is not None and b is not None
        ]
        for pairs in sampled_rounds(len(listed), sample.rounds, sample.seed)
    ]


def directed_pairs(rounds: Rounds) -> int:
    """How many directions of pairs the rounds hold."""
    return 2 * sum(map(len, rounds))


def advice(hosts: int, sample: Sample | None, example: int) -> list[str]:
    """What a user with many hosts should know of the rounds, before they begin.

    Args:
        example: the number of rounds to speak of.
    """
    if sample is not None or hosts <= _MANY_HOSTS:
        return []
    rounds, pairs = rounds_in_all(hosts), hosts * (hosts - 1)
    fewer = example * (hosts - hosts % 2)
    text = f"all {rounds:,} rounds of {hosts:,} hosts are {pairs:,} directed pairs"
    followed = round(usual_share(hosts) * pairs)
    text += f"; --rounds auto measures at most {followed:,} of them, those that show groups"
    return [f"{text}, --rounds {example} any {fewer:,}"]
