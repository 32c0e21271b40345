"""Where hosts and their agents come in an order that was made for other hosts. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def kept_and_new(order: Sequence[str], present: Sequence[str]) -> tuple[list[str], list[str]]:
    """The hosts that are there: those of the order as it has them, and the others as they came.

    Args:
        order: names of hosts; one may come several times, where its ranks are apart.
        present: names, each once at least.
    """
    there = set(present)
    kept = [name for name in dict.fromkeys(order) if name in there]
    return kept, [name for name in dict.fromkeys(present) if name not in set(kept)]


def inserted(ring: Sequence[int], new: Sequence[int], distance_us: Matrix) -> list[int]:
    """A ring with further hosts, one by one each where it adds least to the sum of the hops.

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


def agents_in_order(hosts: Sequence[str], seats: Sequence[str]) -> list[int]:
    """The agents by their new rank.

    Agents of one host stay in their order: the first takes the host's first seat, the second the
    second, and those for whom there is none of their own share the last.

    Args:
        hosts: the host's name of each agent.
        seats: names of hosts in rank order, each of `hosts` at least once.
    """
    places: dict[str, list[int]] = {}
    for place, name in enumerate(seats):
        places.setdefault(name, []).append(place)
    taken: dict[str, int] = {}
    seat_of = []
    for name in hosts:
        of_host = places[name]
        seat_of.append(of_host[min(taken.get(name, 0), len(of_host) - 1)])
        taken[name] = taken.get(name, 0) + 1
    return sorted(range(len(hosts)), key=lambda agent: (seat_of[agent], agent))
