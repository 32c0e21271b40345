"""torchrun's agents, killed and joined by chance: are ranks right, and what does the order cost?

The agents are processes that meet as torchrun's do, and start no workers. Half of the hosts are in
the order file, all are in the cluster file, and after each change the order is compared with a
fresh search. Then agents of PyTorch's own rendezvous and of plink's meet again and again in turn,
to compare how long that takes.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

import plink
from benchkit.agents import Agents, agents
from benchkit.datacenters import unequal
from benchkit.report import Report
from plink.renumber.assignment import inserted, kept_and_new

EXAMPLE = "--changes 20"
QUICK = "--changes 2 --hosts 4 --rounds 1 --agents 2"

_LEAST_AGENTS = 2
_PATIENCE_S = 120.0
# A killed agent is given up after six seconds, not fifteen as by default.
_QUICK = {"keep_alive_interval": "1", "keep_alive_max_attempt": "6", "last_call_timeout": "2"}
_SEARCH_S = 1.0

Matrix = npt.NDArray[np.float64]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--changes", type=int, default=100, help="kills and joins")
    parser.add_argument("--hosts", type=int, default=16, help="that there are, at most all at once")
    parser.add_argument("--agents", type=int, default=8, help="that meet again to measure the time")
    parser.add_argument("--rounds", type=int, default=20, help="of each rendezvous, in turn")
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Kill, let join, check, and measure."""
    # PyTorch's own rendezvous would lose every agent that joins later.
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        _changes(arguments, report, Path(folder))
        _times(arguments, report, Path(folder))


def _changes(arguments: argparse.Namespace, report: Report, folder: Path) -> None:
    rng = random.Random(arguments.seed)
    distance = unequal(arguments.hosts, arguments.seed).distance
    names = [f"h{host:02}" for host in range(arguments.hosts)]
    config = _files(folder, names, distance, len(names) // 2)
    ordered = plink.RankOrder.read(config["order"]).names
    wrong = kills = joins = 0
    dearer: list[float] = []
    dearer_inserted: list[float] = []
    seconds: dict[str, list[float]] = {"kill": [], "join": []}
    with agents("plink", _LEAST_AGENTS, len(names), {**_QUICK, **config}) as crowd:
        for host in ordered:
            crowd.start(host)
        wrong += _hosts_by_rank(crowd) != ordered
        for _ in range(arguments.changes):
            there = [agent.host for agent in crowd.living]
            may_kill = len(there) > _LEAST_AGENTS
            is_kill = len(there) == len(names) or (may_kill and rng.random() < 0.5)
            began = time.monotonic()
            if is_kill:
                kills += 1
                crowd.kill(rng.choice(crowd.living))
                crowd.again()
            else:
                joins += 1
                crowd.forget()
                crowd.start(rng.choice([name for name in names if name not in there]))
            ranked = _hosts_by_rank(crowd)
            seconds["kill" if is_kill else "join"].append(time.monotonic() - began)
            wrong += sorted(ranked) != sorted(agent.host for agent in crowd.living)
            fresh_us = _fresh_us(ranked, names, distance)
            dearer.append(_cost_us(ranked, names, distance) / fresh_us - 1.0)
            alone = _insert_hosts(ordered, ranked, names, distance)
            dearer_inserted.append(_cost_us(alone, names, distance) / fresh_us - 1.0)
    report.table(
        ("order", "median above a fresh search", "most"),
        [
            (name, f"{100 * statistics.median(found):.2f} %", f"{100 * max(found):.2f} %")
            for name, found in (("as numbered", dearer), ("by insertion alone", dearer_inserted))
        ],
    )
    report.table(
        ("change", "times", "median until all have met, s"),
        [
            (name, len(found), f"{statistics.median(found):.1f}")
            for name, found in seconds.items()
            if found
        ],
    )
    report.at_most(f"wrong ranks after {kills} kills and {joins} joins", 0, wrong)
    report.at_most("cost above a fresh search, at most", 1.0, 100 * max(dearer), "%")


def _times(arguments: argparse.Namespace, report: Report, folder: Path) -> None:
    names = [f"h{host:02}" for host in range(arguments.agents)]
    config = _files(folder, names, unequal(len(names), arguments.seed).distance, len(names))
    size = len(names)
    seconds: dict[str, list[float]] = {"c10d": [], "plink": []}
    with (
        agents("c10d", size, size, {}) as pytorchs,
        agents("plink", size, size, config) as plinks,
    ):
        crowds = {"c10d": pytorchs, "plink": plinks}
        for crowd in crowds.values():
            for host in names:
                crowd.start(host)
            crowd.round_of(names, _PATIENCE_S)
        for _ in range(arguments.rounds):
            for name, crowd in crowds.items():
                began = time.monotonic()
                crowd.again()
                met = crowd.round_of(names, _PATIENCE_S)
                seconds[name].append(max(one.at for one in met) - began)
    report.table(
        ("rendezvous", "agents", "rounds", "median, s", "least, s", "most, s"),
        [
            (
                *(name, size, len(found), f"{statistics.median(found):.3f}"),
                *(f"{min(found):.3f}", f"{max(found):.3f}"),
            )
            for name, found in seconds.items()
        ],
    )
    report.measured = seconds


def _files(folder: Path, names: Sequence[str], distance: Matrix, ordered: int) -> dict[str, str]:
    """An order of the first hosts, and a cluster of all, as `--rdzv-conf` names them."""
    places = {"order": folder / "order.json", "cluster": folder / "cluster.json"}
    plink.MeasuredCluster.from_matrix(names, distance).save(places["cluster"])
    part = plink.MeasuredCluster.from_matrix(names[:ordered], distance[:ordered, :ordered])
    plink.order(part, time_limit_s=_SEARCH_S).save(places["order"])
    return {name: str(file) for name, file in places.items()}


def _hosts_by_rank(crowd: Agents) -> list[str]:
    """The hosts by rank, once all have met; nobody where two agents tell different things."""
    met = crowd.round_of([agent.host for agent in crowd.living], _PATIENCE_S)
    is_right = [(one.rank, one.agents) for one in met] == [
        (rank, len(met)) for rank in range(len(met))
    ]
    return [one.host for one in met] if is_right else []


def _cost_us(ranked: Sequence[str], names: Sequence[str], distance: Matrix) -> float:
    places = [names.index(name) for name in ranked]
    return float(distance[places, np.roll(places, -1)].sum())


def _fresh_us(ranked: Sequence[str], names: Sequence[str], distance: Matrix) -> float:
    there = sorted(ranked)
    places = [names.index(name) for name in there]
    part = plink.MeasuredCluster.from_matrix(there, distance[np.ix_(places, places)])
    return _cost_us(plink.order(part, time_limit_s=_SEARCH_S).names, names, distance)


def _insert_hosts(
    ordered: Sequence[str], ranked: Sequence[str], names: Sequence[str], distance: Matrix
) -> list[str]:
    kept, new = kept_and_new(ordered, sorted(ranked))
    ring = inserted(
        [names.index(name) for name in kept], [names.index(name) for name in new], distance
    )
    return [names[place] for place in ring]
