"""Candidate plans of every kind for a network, and the choice of the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.text import join_texts, rtt_text
from plink.formats.limits import Amount, Text, Whole, Word
from plink.formats.structs import Output
from plink.optimize.plans.traffic import Demand, build_traffic, measure_traffic, traffic_time_s
from plink.plans.check import Ports
from plink.plans.forest import Forest, make_forest
from plink.plans.measures import Measures, sum_measures
from plink.solvers.contention.network import Floats, Network, with_every_host_grouped
from plink.solvers.forests.kinds import double_tree, flat, ring, two_level
from plink.solvers.forests.trees import Indices, expand_to_ranks
from plink.solvers.ring.ring_search import search_ring

KINDS = ("2lha", "flat", "ring", "tree")

_ORDER_TIME_LIMIT_S = 1.0

# Predictions this near to each other are equal: they leave out more than that.
_EQUAL = 0.01


class PortUse(Output, frozen=True):
    """Bytes that one port of a parameter server sends and receives in all planned collectives.

    Attributes:
        host: name of the server
        port: number of the port, from 0
        sent_bytes, received_bytes: bytes of all demands
    """

    host: Word
    port: Whole
    sent_bytes: Amount
    received_bytes: Amount


@dataclass(frozen=True)
class Candidate:
    """Candidate for a cluster's plan: a forest of one kind, with its predicted time and traffic.

    Args:
        kind: one of `KINDS`, or of those with servers (`plink.optimize.plans.serving`).
        forest: over the ranks.
        time_s: predicted, of all demands one after the other.
        measures: rounds and bytes, likewise; each port of a server counts as a rank.
        route_ports: (R, P) the port by which each rank takes part in each route; None without
            servers.
        ports: ports of all servers that it uses.
    """

    kind: str
    forest: Forest
    time_s: float
    measures: Measures
    route_ports: Ports | None = None
    ports: Sequence[PortUse] = ()


class Refused(Output, frozen=True):
    """Kind of plan that cannot be built for a network, with the reason.

    Attributes:
        kind: kind of the plan
        reason: why, in words
    """

    kind: Word
    reason: Text


@dataclass(frozen=True)
class ChosenCandidate:
    """Candidate that was chosen, with the reason as a sentence."""

    candidate: Candidate
    reason: str


def explain_refusal(kind: str, network: Network) -> str | None:
    """Return why a plan of this kind cannot be built for a network; None if it can."""
    if kind != "2lha":
        return None
    if not (network.group_of >= 0).any():
        return "no groups of near hosts are known"
    if with_every_host_grouped(network).groups < 2:
        return "all hosts are in one group"
    return None


def build(kind: str, network: Network, order: list[int], host_of: Indices) -> Forest:
    """Build the forest of one of the `KINDS` of plans over the ranks.

    `order` has near hosts next to each other, for rings and trees; `host_of` is (P,) by rank.
    """
    links = network.link_bytes_s
    if kind == "flat":
        routes = flat(links)
    elif kind == "ring":
        routes = ring(order)
    elif kind == "tree":
        routes = double_tree(order)
    else:
        grouped = with_every_host_grouped(network)
        routes = two_level(grouped.group_of, links, grouped.uplink_bytes_s)
    # With a rank on each host, hosts are ranks.
    is_one_each = len(host_of) == network.hosts
    return make_forest(*(routes if is_one_each else expand_to_ranks(routes, host_of)))


def find_short_ring(network: Network, seed: int, distance: Floats | None = None) -> list[int]:
    """Return all hosts in the order of a short ring that enters and leaves each group once.

    It begins with a group's first host, so that trees over it hold groups together, too. Distances,
    (N, N) in any unit, are the latencies where there are no others.

    Raises:
        KeyboardInterrupt: the user ended the search.
    """
    if network.hosts < 3:
        return list(range(network.hosts))
    group_of = with_every_host_grouped(network).group_of
    if distance is None:
        distance = np.maximum(network.latency_s, network.latency_s.T) * 1e6
    crosses = (group_of[:, None] != group_of[None, :]).astype(np.float64)
    # One crossing more costs more than all that distances can save.
    penalty = max(1.0, float(distance.max())) * network.hosts
    found = search_ring(distance + penalty * crosses, seed=seed, time_limit_s=_ORDER_TIME_LIMIT_S)
    if found.ended_by == "interrupt":
        raise KeyboardInterrupt
    order = list(found.order)
    begins = np.flatnonzero(group_of[order] != group_of[np.roll(order, 1)])
    return order[begins[0] :] + order[: begins[0]] if len(begins) else order


def build_candidate(
    kind: str,
    network: Network,
    order: list[int],
    host_of: Indices,
    demands: Sequence[Demand],
    *,
    seen_as: Network | None = None,
) -> Candidate:
    """Build the plan of one kind for a network, with its predicted time.

    It is built for `seen_as`, where the groups to plan on are others than those whose uplinks carry
    it.
    """
    forest = build(kind, seen_as or network, order, host_of)
    return predict_candidate(kind, forest, network, host_of, demands)


def predict_candidate(
    kind: str, forest: Forest, network: Network, host_of: Indices, demands: Sequence[Demand]
) -> Candidate:
    """Predict the time and traffic of a forest for all collectives; return it as a candidate."""
    group_of = with_every_host_grouped(network).group_of[host_of]
    traffics = [build_traffic(demand, forest) for demand in demands]
    return Candidate(
        kind,
        forest,
        sum(traffic_time_s(each, host_of, network) for each in traffics),
        sum_measures(
            [measure_traffic(each, group_of.tolist(), host_of.tolist()) for each in traffics]
        ),
    )


def choose_best(candidates: Sequence[Candidate]) -> ChosenCandidate:
    """Return the quickest candidate, of equal ones that with least traffic, and the reason.

    Where several are predicted to be about as quick, it is the one that sends least between groups,
    where others may have traffic too, and among those the one with the fewest rounds.
    """
    quickest = min(candidates, key=lambda candidate: candidate.time_s)
    equal = [each for each in candidates if each.time_s <= quickest.time_s * (1.0 + _EQUAL)]
    chosen = min(equal, key=_thrift)
    others = [each for each in candidates if each is not chosen]
    if not others:
        return ChosenCandidate(chosen, f"{chosen.kind}: the only kind that fits")
    if len(equal) == 1:
        next_best = min(others, key=lambda each: each.time_s)
        reason = (
            f"{chosen.kind}: predicted to take {_time(chosen)}, {next_best.kind}, the next best, "
            f"{next_best.time_s / chosen.time_s:.2f} times that"
        )
        return ChosenCandidate(chosen, reason)
    names = join_texts([each.kind for each in equal if each is not chosen], "and")
    return ChosenCandidate(
        chosen, f"{chosen.kind}: predicted to be as quick as {names}{_beyond(chosen, equal)}"
    )


def choose_requested(kind: str, candidates: Sequence[Candidate]) -> ChosenCandidate:
    """Return the candidate of the requested kind, with a sentence on what `auto` would choose."""
    chosen = next(each for each in candidates if each.kind == kind)
    preferred = choose_best(candidates).candidate
    if preferred is chosen:
        return ChosenCandidate(chosen, f"{kind}: as asked for, and what auto would have chosen")
    return ChosenCandidate(
        chosen,
        f"{kind}: as asked for, predicted to take {_time(chosen)}; auto would have chosen "
        f"{preferred.kind}, predicted to take {_time(preferred)}",
    )


def _thrift(candidate: Candidate) -> tuple[int, int]:
    # Whole bytes, for sums of shares differ in their last digits.
    return round(candidate.measures.cross_group_bytes), candidate.measures.rounds


def _beyond(chosen: Candidate, equal: Sequence[Candidate]) -> str:
    """Return a phrase on what the chosen plan saves beside others of equal time, or ''."""
    cross_bytes, rounds = _thrift(chosen)
    others = [_thrift(each) for each in equal if each is not chosen]
    if all(other_bytes > cross_bytes for other_bytes, _ in others):
        return ", and to send the least between groups"
    if all(other_rounds > rounds for _, other_rounds in others):
        return ", in the fewest rounds"
    return ""


def _time(candidate: Candidate) -> str:
    return rtt_text(candidate.time_s * 1e6)
