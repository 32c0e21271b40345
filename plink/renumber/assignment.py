"""Assignment of a rank to each process when hosts are to follow an order. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.formats.hosts import places_by_domain

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """Stretch of adjacent ranks on one host.

    Args:
        host: name of the host.
        slots: number of ranks in the order; a job may have more or fewer processes there.
    """

    host: str
    slots: int = 1


def kept_and_new(order: Sequence[str], present: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the present hosts of the order, in its sequence, and the others as they came.

    Args:
        order: names of hosts; one may come several times, where its ranks are apart.
        present: names, each once at least.
    """
    there = set(present)
    kept = [name for name in dict.fromkeys(order) if name in there]
    return kept, [name for name in dict.fromkeys(present) if name not in set(kept)]


def inserted(ring: Sequence[int], new: Sequence[int], distance_us: Matrix) -> list[int]:
    """Return a ring with further hosts, each put where it adds least to the sum of the hops.

    Cheapest insertion (Rosenkrantz, Stearns and Lewis 1977): of all hosts that wait, the one goes
    first that adds least. A host is never put before the first one, which keeps rank 0.

    Args:
        ring: indices of hosts.
        new: further ones.
        distance_us: (N, N), symmetric.
    """
    done, waiting = list(ring), list(new)
    if not done and waiting:
        done.append(waiting.pop(0))
    while waiting:
        before, after = np.array(done), np.array([*done[1:], done[0]])
        of_waiting = distance_us[waiting]
        added = of_waiting[:, before] + of_waiting[:, after] - distance_us[before, after]
        which, place = np.unravel_index(int(np.argmin(added)), added.shape)
        done.insert(int(place) + 1, waiting.pop(int(which)))
    return done


def assign_ranks(
    hosts: Sequence[str], runs: Sequence[Run], local_ranks: Sequence[int] | None = None
) -> list[int]:
    """Return the processes by new rank: the first one becomes rank 0.

    A host's processes stay together and in local order. Where a host has several runs, it fills
    them in turn: in proportion to their slots where its processes are a multiple of these, else
    with one process each, the last run taking all that are left.

    Args:
        hosts: name of each process's host.
        runs: stretches of adjacent ranks in rank order; each host has at least one.
        local_ranks: number of each process on its host; None to keep the order of `hosts`.
    """
    local = range(len(hosts)) if local_ranks is None else local_ranks
    runs_of: dict[str, list[int]] = {}
    for place, run in enumerate(runs):
        runs_of.setdefault(run.host, []).append(place)
    place_of = [0] * len(hosts)
    for host, places in runs_of.items():
        processes = [number for number, name in enumerate(hosts) if name == host]
        processes.sort(key=lambda number: (local[number], number))
        slots = [place for place in places for _ in range(runs[place].slots)]
        each, rest = divmod(len(processes), len(slots))
        if len(places) == 1 or rest or not each:
            # One process for each run; the last run takes all that are left.
            slots, each = places, 1
        for position, number in enumerate(processes):
            place_of[number] = slots[min(position // each, len(slots) - 1)]
    return sorted(range(len(hosts)), key=lambda number: (place_of[number], local[number], number))


def find_misfit(hosts: Sequence[str], runs: Sequence[Run]) -> str | None:
    """Return a host with several runs whose slots do not divide its processes, or None.

    Args:
        hosts: name of each process's host.
        runs: stretches of adjacent ranks in rank order.
    """
    for host in dict.fromkeys(hosts):
        slots = [run.slots for run in runs if run.host == host]
        if len(slots) > 1 and hosts.count(host) % sum(slots):
            return host
    return None


def join_domains(runs: Sequence[Run], domain_of: Mapping[str, str]) -> list[Run]:
    """Return the runs, with those of an NVLink domain together at the place of its first run.

    Args:
        runs: stretches of adjacent ranks in rank order.
        domain_of: the NVLink domain of each host that is in one.
    """
    return [runs[place] for place in places_by_domain(domain_of.get(run.host) for run in runs)]
