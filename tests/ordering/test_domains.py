"""Hosts of an NVLink domain are side by side in every order, whatever the readings say."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plink
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.cli import run
from plink.formats.hosts import places_by_domain
from plink.measure.probing.request import carry_over

Domain = str | None


def cluster_of(
    matrix: npt.NDArray[np.float64], domains: Sequence[Domain], kind: str = "rtt_us"
) -> plink.MeasuredCluster:
    """Hosts with these symmetric figures, in these domains."""
    names = [f"n{place}" for place in range(len(domains))]
    cluster = plink.MeasuredCluster.from_matrix(names, **{kind: matrix})
    hosts = [replace(host, domain=name) for host, name in zip(cluster.hosts, domains, strict=True)]
    return replace(cluster, hosts=hosts)


def random_figures(size: int, seed: int, least: float = 10.0) -> npt.NDArray[np.float64]:
    figures = np.triu(np.random.default_rng(seed).uniform(least, 100.0, (size, size)), 1)
    return figures + figures.T


def are_together(domains: Sequence[Domain]) -> bool:
    """Whether no domain comes again after another one."""
    runs = [domain for domain, _ in itertools.groupby(domains) if domain is not None]
    return len(runs) == len(set(runs))


def in_order(order: plink.RankOrder) -> list[Domain]:
    return [host.domain for host in order.hosts]


DOMAINS = st.lists(st.sampled_from(["x", "y", "z", None]), min_size=3, max_size=6)


@given(DOMAINS, st.integers(0, 1000))
def test_a_ring_is_the_cheapest_that_keeps_domains_together(
    domains: list[Domain], seed: int
) -> None:
    cluster = cluster_of(random_figures(len(domains), seed), domains)
    order = plink.order(cluster, time_limit_s=10.0)
    assert are_together(in_order(order))
    matrix = cluster.rtt.readings_us
    costs = [
        sum(matrix[one, other] for one, other in zip(hosts, hosts[1:] + hosts[:1], strict=True))
        for hosts in itertools.permutations(range(len(domains)))
        if are_together([domains[host] for host in hosts])
    ]
    # A ring of two costs what its only pair does, once for each direction.
    assert order.cost.cost_us == pytest.approx(min(costs))
    assert order.cost.lower_bound_us <= order.cost.cost_us


@pytest.mark.parametrize("algorithm", ["mpich-recursive-doubling", "ring"])
@pytest.mark.parametrize("kind", ["rtt_us", "gbit_s"])
def test_other_objectives_keep_them_together(kind: str, algorithm: str) -> None:
    # The nearest pairs are of two domains each.
    domains = ["x", "y"] * 4
    figures = random_figures(8, 0, least=80.0)
    figures[range(0, 8, 2), range(1, 8, 2)] = figures[range(1, 8, 2), range(0, 8, 2)] = 1.0
    matrix = figures if kind == "rtt_us" else 100.0 / np.where(figures, figures, 1.0)
    free = plink.order(cluster_of(matrix, [None] * 8, kind), algorithm=algorithm, time_limit_s=0.2)
    assert not are_together([domains[int(name[1:])] for name in free.names])
    order = plink.order(cluster_of(matrix, domains, kind), algorithm=algorithm, time_limit_s=0.2)
    assert are_together(in_order(order))
    if kind == "rtt_us":
        assert free.cost.cost_us < order.cost.cost_us <= order.cost.listed_us
        assert order.cost.lower_bound_us <= order.cost.cost_us
    else:
        assert free.cost.bottleneck_gbit_s >= order.cost.bottleneck_gbit_s
        assert order.cost.bottleneck_gbit_s >= order.cost.listed_gbit_s


@pytest.mark.parametrize("asked", [{"interleave": True}, {"prove_s": 1.0}])
def test_what_would_part_them_is_refused(asked: dict[str, float]) -> None:
    cluster = cluster_of(random_figures(3, 0), ["x", "x", "y"])
    with pytest.raises(WrongUseError):
        plink.order(cluster, **asked)


@given(st.lists(st.sampled_from(["x", "y", None]), max_size=8))
def test_places_of_a_domain_come_where_its_first_does(domains: list[Domain]) -> None:
    places = places_by_domain(domains)
    assert sorted(places) == list(range(len(domains)))
    assert are_together([domains[place] for place in places])
    assert not are_together(domains) or places == sorted(places)
    firsts = [
        place
        for place in places
        if domains[place] is None or place == domains.index(domains[place])
    ]
    assert firsts == sorted(firsts)


NODES = """{"kind": "List", "items": [
  {"kind": "Node", "metadata": {"name": "n0", "labels": {"nvidia.com/gpu.clique": "u.0"}}},
  {"kind": "Node", "metadata": {"name": "n1", "labels": {"nvidia.com/gpu.clique": "u.1"}}},
  {"kind": "Node", "metadata": {"name": "n2", "labels": {"nvidia.com/gpu.clique": "u.0"}}},
  {"kind": "Node", "metadata": {"name": "n3", "labels":
    {"topology.k8s.aws/network-node-layer-1": "a"}}}
]}"""
INVENTORIES = {
    "block": ("BlockName=x Nodes=n[0,2]\nBlockName=y Nodes=n[1,3]\n", ["x", "y", "x", "y"]),
    "tree": ("SwitchName=x Nodes=n[0,2]\nSwitchName=y Nodes=n[1,3]\n", [None] * 4),
    "nodes": (NODES, ["u.0", "u.1", "u.0", None]),
}


@pytest.mark.parametrize("inventory", INVENTORIES)
def test_domains_are_taken_over_from_an_inventory_and_kept(inventory: str, tmp_path: Path) -> None:
    content, domains = INVENTORIES[inventory]
    file, given = tmp_path / "cluster.json", tmp_path / "given"
    cluster_of(random_figures(4, 0), [None] * 4).save(file)
    given.write_text(content)
    assert run(["group", str(file), "--given", str(given)]) == 0
    read = plink.MeasuredCluster.read(file)
    assert [host.domain for host in read.hosts] == domains
    anew = [replace(host, domain=None) for host in read.hosts]
    assert [host.domain for host in carry_over(anew, read, moved=()).hosts] == domains
