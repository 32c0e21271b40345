"""Restarts give the same order in this process, on a real Dask cluster and on a real Ray one."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import plink
from executors.clusters import dask_cluster, ray_cluster
from mesh import meshes
from mesh.test_command import with_uplinks
from ordering.clusters import cluster_of
from plink.base.errors import PlinkError
from plink.cli import run
from plink.formats import cluster
from plink.optimize import executors
from plink.optimize.executors import map_seeds
from plink.optimize.orders import contention
from plink.solvers.contention.contention_search import search_by_contention
from plink.solvers.contention.time import TableTimer
from plink.solvers.search import Solution
from support.require import require_engine

LITTLE = ["--restarts", "3", "--steps", "3000", "--seed", "7", "--json"]
CASES = {
    "mesh": ["c.json", "--mesh", "dp=4,tp=4", "--traffic", "tp=9MB,dp=1MB"],
    "rounds": ["c.json", "--algo", "halving-doubling"],
    "ring": ["c.json", "--algo", "ring"],
    "contention": ["u.json", "--mesh", "dp=4,tp=4", "--traffic", "tp=9MB,dp=1MB"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    known = cluster_of(meshes.racks([4, 4, 4, 4], 2))
    cluster.write_cluster("c.json", known)
    cluster.write_cluster("u.json", with_uplinks(known))
    return tmp_path


def found_by(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["order", *options, *LITTLE]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


# Of the rest, a bound and the random orders compared with are what there is time for.
SAME = {
    "cost": ("kind", "objective", "cost_us", "listed_us"),
    "solver": ("name", "options", "seed"),
}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one["order"] == other["order"] and all(
        one[part][name] == other[part][name] for part, names in SAME.items() for name in names
    )


@pytest.mark.parametrize("case", list(CASES))
def test_threads_and_turns_make_no_difference(folder, capsys, case):
    alone = found_by(capsys, *CASES[case], "--executor", "local")
    beside = found_by(capsys, *CASES[case], "--executor", "local", "--threads", "3")
    assert same(alone, beside)
    assert alone["solver"]["options"]["restarts"] == 3
    assert alone["cost"]["lower_bound_us"] > 0.0


def test_every_restart_has_evaluators_of_its_own(folder, monkeypatch):
    timers: list[TableTimer] = []

    def search(clock: TableTimer, *arguments: Any) -> Solution:
        timers.append(clock)
        return search_by_contention(clock, *arguments)

    monkeypatch.setattr(contention, "search_by_contention", search)
    plink.order(plink.read("u.json"), executor="local", restarts=3, steps=100, threads=3)
    assert len(timers) == 3
    assert len({id(timer) for timer in timers}) == 3


@pytest.mark.needs("dask")
def test_a_dask_cluster_gives_the_same(folder, capsys):
    require_engine("dask")
    on_a_cluster(folder, capsys, dask_cluster)


@pytest.mark.needs("ray")
@pytest.mark.timeout(750)  # A Ray head takes half a minute to start where much else runs.
def test_a_ray_cluster_gives_the_same(folder, capsys):
    require_engine("ray")
    on_a_cluster(folder, capsys, ray_cluster)


def on_a_cluster(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    started: Callable[[], AbstractContextManager[str]],
) -> None:
    with started() as address:
        # It begins with a search by latency. In a process of its own, since an engine's threads
        # outlive its client.
        case = CASES["contention"]
        done = subprocess.run(
            [sys.executable, "-m", "plink", "order", *case, *LITTLE, "--executor", address],
            capture_output=True,
            text=True,
            check=False,
            timeout=150,
        )
    assert done.returncode == 0, done.stderr
    assert same(json.loads(done.stdout), found_by(capsys, *case, "--executor", "local"))


@pytest.mark.parametrize(("stillborn", "opened"), [(0, 1), (2, 3), (9, 3)])
def test_a_session_of_ray_whose_server_was_stillborn_is_tried_again(monkeypatch, stillborn, opened):
    sessions = []

    def init(*_, **__):
        sessions.append(len(sessions))
        if len(sessions) <= stillborn:
            raise ConnectionAbortedError("RuntimeError: Starting Ray client server failed. See x")
        return contextlib.nullcontext()

    def remote(**_):
        return lambda function: SimpleNamespace(remote=function)

    ray = SimpleNamespace(init=init, put=lambda shared: shared, remote=remote, get=list)
    monkeypatch.setitem(sys.modules, "ray", ray)
    search = "ray://head:1", 1, lambda shared, seed: shared + seed, 5, [1, 2]
    if stillborn < opened:
        assert map_seeds(*search) == [6, 7]
    else:
        with pytest.raises(PlinkError, match="Starting Ray client server failed"):
            map_seeds(*search)
    assert len(sessions) == opened


@pytest.mark.needs("dask")
def test_a_cluster_that_is_not_there_is_one_sentence(folder, capsys, monkeypatch):
    require_engine("dask")
    monkeypatch.setattr(executors, "_CONNECT_S", 1)
    assert run(["order", "c.json", "--executor", "dask://127.0.0.1:9"]) == 1
    shown = capsys.readouterr().err
    assert "error: the Dask cluster at 127.0.0.1:9 failed" in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--executor", "foo"], "is not an executor's address"),
        (["--executor", "dask://host"], "is not an executor's address"),
        (["--executor", "ray://:1"], "is not an executor's address"),
        (["--executor", "local", "--time-limit", "3"], "exclude each other"),
        (["--restarts", "3"], "needs --executor"),
        (["--executor", "local", "--interleave", "--slots", "2"], "limited by time"),
    ],
)
def test_what_cannot_be_is_refused(folder, capsys, options, told):
    assert run(["order", "c.json", *options]) == 2
    assert told in capsys.readouterr().err


def test_an_engine_that_is_not_installed_is_named(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run(["order", "c.json", "--executor", "ray://127.0.0.1:9"]) == 2
    shown = capsys.readouterr().err
    assert "ray, which is not installed" in shown
    assert "hint: pip install 'ray[client]'\n" in shown
