"""Training is paused while hosts are probed again, goes on whatever happens, and gets a plan."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from autotune.deciding import NO_MASTERS
from autotune.real_ranks import training
from autotune.serving import SECRET, TIMEOUT_S, plan_of, serving
from plink.autotune.daemon.job import Job, Outgoing
from plink.autotune.daemon.reprobing import AnyProber, Reprobing
from plink.autotune.daemon.server import Served, Server
from plink.autotune.protocol.messages import MOST_PAUSE_S
from plink.autotune.reprobing.measuring import Quiesce
from plink.autotune.reprobing.prober import Probed, Prober
from plink.autotune.reprobing.replanning import Replanned
from plink.autotune.tuner.interface import Action, Decision, Window
from plink.base.errors import PlinkError, WrongUseError
from plink.base.replacing import replace
from plink.base.request import check_request
from plink.cli.autotune_request import DaemonRequest
from plink.cli.autotune_serve import build_prober
from plink.cli.way_options import ReachOptions
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.plan import Plan
from plink.probes.options import SshOptions
from support.running import wait_for

RANKS = 3


class Asking:
    """A tuner that cannot help: it asks for the first two hosts with its first window."""

    def __init__(self, plan: Plan) -> None:
        self.plan = 0
        self._has_asked = plan.kind != "flat"

    def decide(self, now_s: float, window: Window) -> Decision:
        hosts = () if self._has_asked else (0, 1)
        self._has_asked = True
        action = Action.REPROBE if hosts else Action.WAIT
        return Decision(action, "a slow flow", 0, NO_MASTERS, hosts=hosts)


class Rack:
    """Stands for the network: it finds what it is told, and looks at the training meanwhile."""

    def __init__(self, plan: Plan | None) -> None:
        self._plan = plan
        self.iterations: list[int] = []
        self.is_watching = threading.Event()
        self.hosts: Sequence[str] = ()
        self.seen: list[list[int]] = []
        self.paused_s = 0.0
        self.has_begun = threading.Event()
        self.may_end = threading.Event()

    def watch(self, iterations: list[int]) -> None:
        """From here on it sees how far ranks are."""
        self.iterations = iterations
        self.is_watching.set()

    def probe(self, plan: Plan, _: object, hosts: Sequence[str], quiesce: Quiesce) -> Probed:
        self.hosts = hosts
        with quiesce() as left_s:
            self.paused_s = left_s()
            assert self.is_watching.wait(TIMEOUT_S)
            self.seen.append(list(self.iterations))
            self.has_begun.set()
            assert self.may_end.wait(TIMEOUT_S)
            self.seen.append(list(self.iterations))
        replanned = Replanned(self._plan, "two groups")
        return Probed(replanned, Cluster([]), "probed", ["h2: no route to host"])


def job_of() -> Job:
    return Job("job", plan_of(RANKS, hosts=True), Asking)


def other(plan: Plan) -> Plan:
    forest = replace(plan.forest, weights=np.array([3.0, 1.0, 2.0]))
    return replace(plan, kind="other", forest=forest)


def events(job: Job) -> str:
    return "\n".join(event.text for event in job.status.latest)


def test_training_holds_still_and_goes_on_with_the_new_plan() -> None:
    job, said = job_of(), list[str]()
    rack = Rack(other(job.plan))

    def begin(server: Server) -> Reprobing:
        return Reprobing(job, server.send, rack)

    with (
        serving({"job": Served(job, SECRET)}, said, begin=begin) as port,
        training(job.plan.forest, port) as state,
    ):
        rack.watch(state.iterations)
        assert rack.has_begun.wait(TIMEOUT_S), events(job)
        time.sleep(0.1)
        rack.may_end.set()
        # Plan 1 was the first one again, with which ranks paused.
        wait_for(lambda: min(state.plans) == 2)
        wait_for(lambda: job.status.plan_in_force == 2)
    assert 0.0 < rack.paused_s < MOST_PAUSE_S
    assert rack.hosts == ["h0", "h1"]
    assert rack.seen[0] == rack.seen[1]
    assert job.plan.kind == "other"
    assert "two groups; the job gets a new plan" in events(job)
    assert "h2: no route to host" in events(job)
    assert job.status.reprobe_hosts == ()
    assert said == []


def test_ranks_go_on_when_the_daemon_dies_while_they_are_paused() -> None:
    job = job_of()
    rack = Rack(None)

    def begin(server: Server) -> Reprobing:
        return Reprobing(job, server.send, rack)

    daemon = contextlib.ExitStack()
    port = daemon.enter_context(serving({"job": Served(job, SECRET)}, [], begin=begin))
    with daemon, training(job.plan.forest, port) as state:
        rack.watch(state.iterations)
        assert rack.has_begun.wait(TIMEOUT_S), events(job)
        held, began_s = max(state.iterations), time.monotonic()
        daemon.close()
        wait_for(lambda: min(state.iterations) > held + 5)
        assert time.monotonic() - began_s < MOST_PAUSE_S
    rack.may_end.set()


def probing(job: Job, prober: AnyProber | None, *asked: Sequence[str]) -> str:
    """The messages when a job without ranks asks for hosts repeatedly."""
    sent: list[Outgoing] = []

    async def ask() -> None:
        reprobing = Reprobing(job, lambda _, outgoing: sent.append(outgoing), prober)
        for hosts in asked:
            job.when_asked(time.time(), hosts)
            while reprobing.is_busy:
                await asyncio.sleep(0.01)

    asyncio.run(ask())
    assert sent in ([], [[]])
    return events(job)


def test_hosts_that_cannot_be_reached_are_an_event_and_left_alone() -> None:
    job = job_of()
    hosts = [Host(f"h{i}", f"127.0.0.{i + 1}", f"127.0.0.{i + 1}", port=9) for i in range(RANKS)]
    prober = Prober(Cluster(hosts), "c.json", None, SshOptions(config_file="/dev/null"))
    said = probing(job, prober, ["h0", "h1"], ["h1"])
    assert "probing again failed: fewer than two hosts can be reached; left alone for 120 s" in said
    assert "probed a short while ago: h1" in said


@pytest.mark.parametrize("error", [RuntimeError("boom"), KeyboardInterrupt("boom")])
def test_whatever_probing_fails_with_is_an_event(error: BaseException) -> None:
    class Broken:
        def probe(self, plan: Plan, _: object, hosts: Sequence[str], quiesce: Quiesce) -> Probed:
            with quiesce() as left_s:
                assert left_s() == 0.0
            raise error

    said = probing(job_of(), Broken(), ["h0"])
    assert "probing again failed: " in said
    assert repr(error) in said


def test_without_a_cluster_file_it_is_said_once_which_option_is_missing() -> None:
    assert probing(job_of(), None, ["h0"], ["h1"]).count("--cluster") == 1


def test_options_say_how_hosts_are_reached(tmp_path: Path) -> None:
    reach, plan = ReachOptions(), plan_of(RANKS, hosts=True)
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("h[0-1]\n")
    assert build_prober(DaemonRequest(), reach, [plan]) is None
    assert build_prober(DaemonRequest(hosts=str(hosts)), reach, []) is not None
    with pytest.raises(PlinkError, match="h2, a host of the plan"):
        build_prober(DaemonRequest(hosts=str(hosts)), reach, [plan])
    with pytest.raises(PlinkError, match="cannot be standard input"):
        build_prober(DaemonRequest(cluster="-"), reach, [])
    for request in (DaemonRequest(cluster="c.json", hosts="h"), DaemonRequest(output="new.json")):
        with pytest.raises(WrongUseError):
            check_request(request)
