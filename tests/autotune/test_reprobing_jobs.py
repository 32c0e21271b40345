"""What network each of several jobs assumes, however often it is measured; measuring is played."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pytest

from autotune.deciding import Switching
from autotune.serving import TIMEOUT_S, plan_of
from autotune.test_reprobing_rules import RACKS, cluster_in, planned, with_rates
from plink.autotune.daemon.job import Job
from plink.autotune.daemon.reprobing import Reprobing
from plink.autotune.reprobing import prober as prober_module
from plink.autotune.reprobing.backoff import BackOff
from plink.autotune.reprobing.measuring import Measured, Quiesce, SecondsLeft
from plink.autotune.reprobing.prober import Probed, Prober
from plink.autotune.reprobing.replanning import Regrouped, Replanned
from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.plan import Plan
from plink.probes.options import SshOptions


@contextlib.contextmanager
def at_once() -> Iterator[SecondsLeft]:
    yield lambda: 10.0


def prober_finding(monkeypatch: pytest.MonkeyPatch, *host_gbit_s: float) -> tuple[Prober, Plan]:
    """One that finds that the first host's link carries so much, one time after the other."""
    cluster, rates = with_rates(cluster_in(RACKS), 10.0, 20.0), iter(host_gbit_s)

    def measure_again(known: Cluster, *_: object) -> Measured:
        after = with_rates(known, next(rates), 20.0)
        return Measured(Regrouped(after, ()), ["h0"], (), (), (), True, 10.0, True, 1.0)

    monkeypatch.setattr(prober_module, "measure_again", measure_again)
    return Prober(cluster, "c.json", None, SshOptions()), planned(cluster)


def test_a_change_makes_new_plans_for_all_jobs_on_these_hosts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prober, plan = prober_finding(monkeypatch, 4.0, 4.0, 4.0)
    first, second = (prober.probe(plan, None, ["h0"], at_once) for _ in range(2))
    for done in (first, second):
        assert done.replanned.plan is not None
        assert done.replanned.reason == "links carry other rates: h0"
    # A job that has the new plan has seen it.
    done = prober.probe(first.replanned.plan or plan, first.cluster, ["h0"], at_once)
    assert done.replanned == Replanned(None, "nothing changed")


def test_many_small_changes_are_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    prober, plan = prober_finding(monkeypatch, 8.2, 6.7, 5.5)
    done = [prober.probe(plan, None, ["h0"], at_once).replanned for _ in range(3)]
    assert done[0] == Replanned(None, "nothing changed")
    assert all(each.reason == "links carry other rates: h0" for each in done[1:])


def test_a_change_for_which_there_was_no_plan_is_seen_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prober, plan = prober_finding(monkeypatch, 4.0, 4.0)
    with monkeypatch.context() as patched:

        def replan(*_: object) -> Replanned:
            raise PlinkError("no plan")

        patched.setattr(prober_module, "replan", replan)
        with pytest.raises(PlinkError, match="no plan"):
            prober.probe(plan, None, ["h0"], at_once)
    assert prober.probe(plan, None, ["h0"], at_once).replanned.plan is not None


class Asked:
    """Gives these answers, and notes what it is told to compare with."""

    def __init__(self, *answers: Probed) -> None:
        self._answers = iter(answers)
        self.before: list[Cluster | None] = []
        self.hosts: list[Sequence[str]] = []

    def probe(
        self, plan: Plan, before: Cluster | None, hosts: Sequence[str], quiesce: Quiesce
    ) -> Probed:
        self.before.append(before)
        self.hosts.append(hosts)
        return next(self._answers)


def test_a_job_compares_with_what_its_plan_was_made_for() -> None:
    job = Job("job", plan_of(3, hosts=True), Switching)
    forest = replace(job.plan.forest, weights=np.array([3.0, 1.0, 2.0]))
    found = [
        Replanned(None, "nothing changed"),
        Replanned(None, "the plan is good for that, too", is_confirmed=True),
        Replanned(replace(job.plan, forest=forest), "groups are others"),
        Replanned(None, "nothing changed"),
        Replanned(None, "nothing changed"),
    ]
    clusters = [Cluster([], made_from=str(number)) for number in range(len(found))]
    asked = Asked(
        *(
            Probed(each, cluster, "probed", ())
            for each, cluster in zip(found, clusters, strict=True)
        )
    )

    async def probe() -> None:
        reprobing = Reprobing(job, lambda *_: None, asked)
        for _ in found:
            reprobing.ask_by_hand()
            while reprobing.is_busy:
                await asyncio.sleep(0.005)

    asyncio.run(probe())
    assert asked.before == [None, None, clusters[1], clusters[2], clusters[2]]


class LeftAlone(BackOff):
    """These hosts are left alone as long as they are named here."""

    def __init__(self, *hosts: str) -> None:
        super().__init__()
        self.hosts = set(hosts)

    def due(self, now_s: float, hosts: Iterable[str]) -> Sequence[str]:
        return [host for host in hosts if host not in self.hosts]

    def wait_s(self, now_s: float, hosts: Iterable[str]) -> float:
        return 0.01


def test_hosts_that_are_asked_for_while_they_are_left_alone_are_probed_later() -> None:
    job, left_alone = Job("job", plan_of(3, hosts=True), Switching), LeftAlone("h0")
    nothing = Probed(Replanned(None, "nothing changed"), Cluster([]), "probed", ())
    asked = Asked(nothing, nothing)

    async def probe() -> None:
        reprobing = Reprobing(job, lambda *_: None, asked, back_off=left_alone)
        reprobing.ask(0.0, ["h0", "h1"])
        while reprobing.is_busy:
            await asyncio.sleep(0.005)
        assert asked.hosts == [["h1"]]
        left_alone.hosts.clear()
        while len(asked.hosts) < 2:
            await asyncio.sleep(0.005)

    asyncio.run(asyncio.wait_for(probe(), TIMEOUT_S))
    assert asked.hosts == [["h1"], ["h0"]]
