"""Agents in processes of their own meet as torchrun's do: rounds, kills and joins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import plink
from benchkit.agents import Agents, agents
from torchrun.networks import order_of, racks

pytestmark = pytest.mark.timing

QUICK = {"keep_alive_interval": "1", "keep_alive_max_attempt": "4", "last_call_timeout": "1"}
WITHIN_S = 60.0
ORDER = ["b2", "a1", "b0", "a0"]


def met(crowd: Agents, hosts: list[str]) -> list[str]:
    found = crowd.round_of(hosts, WITHIN_S)
    assert [one.rank for one in found] == list(range(len(hosts)))
    assert {one.agents for one in found} == {len(hosts)}
    return [one.host for one in found]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("files")
    order_of(ORDER).save(where / "order.json")
    racks().save(where / "cluster.json")
    return where


@pytest.fixture
def crowd(folder: Path) -> Iterator[Agents]:
    files = {"order": str(folder / "order.json"), "cluster": str(folder / "cluster.json")}
    with agents("plink", 2, 6, {**QUICK, **files}) as found:
        yield found


def test_ranks_follow_the_order_in_every_round(crowd: Agents) -> None:
    for host in sorted(ORDER):
        crowd.start(host)
    assert met(crowd, ORDER) == ORDER
    crowd.again()
    assert met(crowd, ORDER) == ORDER
    # A join: near hosts are neighbours, and rank 0 stays where it is.
    crowd.forget()
    crowd.start("b1")
    joined = met(crowd, [*ORDER, "b1"])
    assert joined[0] == "b2"
    assert "".join(host[0] for host in joined) in ("bbbaa", "bbaab", "baabb")
    # Rank 0 is killed: its place is another's.
    crowd.kill(next(agent for agent in crowd.living if agent.host == "b2"))
    crowd.again()
    met(crowd, [*ORDER[1:], "b1"])
    # Several agents of a host are neighbours.
    crowd.forget()
    crowd.start("a1")
    ranked = met(crowd, ["a0", "a1", "a1", "b0", "b1"])
    assert "a1a1" in "".join(ranked)


def test_hosts_are_measured_before_the_first_round_and_only_new_ones_later(
    folder: Path, tmp_path: Path
) -> None:
    keep = tmp_path / "measured.json"
    with agents("plink", 2, 3, {**QUICK, "order": "probe", "keep": str(keep)}) as crowd:
        for host in ("x", "y"):
            crowd.start(host)
        met(crowd, ["x", "y"])
        first = plink.MeasuredCluster.read(keep)
        assert sorted(first.names) == ["x", "y"]
        assert first.rtt is not None
        crowd.again()
        met(crowd, ["x", "y"])
        assert plink.MeasuredCluster.read(keep).rtt_us == pytest.approx(first.rtt_us, nan_ok=True)
        crowd.forget()
        crowd.start("z")
        met(crowd, ["x", "y", "z"])
        second = plink.MeasuredCluster.read(keep)
        assert second.rtt is not None
        assert (second.rtt.samples > 0).sum() == 6
        old = [second.names.index(name) for name in first.names]
        kept = second.rtt.samples[old][:, old]
        assert (kept >= first.rtt.samples).all()


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"order": "nowhere.json"}, "plink: nowhere.json: "),
        ({"order": "probe", "join_timeout": "soon"}, "plink: --rdzv-conf or --rdzv-endpoint is"),
    ],
)
def test_what_cannot_be_ends_an_agent_with_a_sentence(config: dict[str, str], said: str) -> None:
    with agents("plink", 1, 1, config) as crowd:
        agent = crowd.start("x")
        while not agent.error:
            # It listens to what agents say.
            crowd.forget()
        assert agent.error.startswith(f"SystemExit: {said}")
