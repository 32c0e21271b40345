"""Trainings without computing on the hosts of a lab: one process a host for all of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchkit.gradients import Bucket
from benchkit.labs import BenchLab
from benchkit.processes import Process, answer, rank_tasks, ranks_started, tell
from benchkit.training_rounds import GIVEN, ORDERED, Trained
from labkit.namespaces import inside
from labkit.wiring import UP_PORT, namespace
from plink.formats import order as order_file
from plink.formats import plan as plan_file


@dataclass(frozen=True)
class Prepared:
    """What plink found out about a lab: Gloo's order, and the engine's plan."""

    given: Sequence[str]
    ordered: Sequence[str]
    plan: Path
    kind: str


def prepare(lab: BenchLab, size_bytes: int, keep: Path | None) -> Prepared:
    """Probe the lab, order its hosts for a ring, and plan for buffers of so many bytes.

    Args:
        lab: standing.
        size_bytes: what the plan is made for.
        keep: a folder that has a cluster file of the same lab, or gets it.
    """
    cluster, order, plan = (lab.dir / f"{name}.json" for name in ("cluster", "order", "plan"))
    kept = None if keep is None else keep / cluster.name
    if kept is not None and kept.exists():
        shutil.copy(kept, cluster)
    else:
        lab.probe_with_uplinks()
        if kept is not None:
            shutil.copy(cluster, kept)
    lab.plink("order", cluster, "--algo", "ring", "-o", order, "--json", over_ssh=False)
    lab.plink(
        *("plan", cluster, "--kind", "auto", "--size", size_bytes, "-o", plan, "--json"),
        over_ssh=False,
    )
    return Prepared(
        given=lab.given(),
        ordered=[host.name for host in order_file.read_order(str(order)).hosts],
        plan=plan,
        kind=plan_file.read_plan(str(plan)).kind,
    )


@dataclass
class Ranks:
    """Processes on the hosts of a lab, rank by rank in the given order."""

    lab: BenchLab
    processes: Sequence[Process]

    def prepare(self, buckets: Sequence[Bucket], compute_s: float) -> None:
        """Take memory for a network's gradients."""
        items = [bucket.items for bucket in buckets]
        ready_s = [bucket.ready * compute_s for bucket in buckets]
        self._all({"do": "prepare", "items": items, "ready_s": ready_s})

    def train(self, by: str, iterations: int) -> Trained:
        """Iterate; an iteration takes as long as on its slowest rank."""
        before = self._crossed_bytes()
        answers = self._all({"do": "train", "by": by, "iterations": iterations})
        return Trained(
            seconds=max(answer["seconds"] for answer in answers),
            cpu_s=sum(answer["cpu_s"] for answer in answers),
            crossing_bytes=(self._crossed_bytes() - before) / iterations,
        )

    def meet(self, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Tell every rank who it is, and wait until all are connected."""
        self._exchange(tasks)

    def _all(self, command: Mapping[str, Any]) -> list[dict[str, Any]]:
        return self._exchange([command] * len(self.processes))

    def _exchange(self, lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        for process, line in zip(self.processes, lines, strict=True):
            tell(process, line)
        return [answer(process) for process in self.processes]

    def _crossed_bytes(self) -> int:
        """What has left all racks since the lab stands, with all headers."""
        racks = set(self.lab.racks.values())
        return sum(_sent_bytes(namespace(self.lab.name, rack)) for rack in racks)


@contextmanager
def training(lab: BenchLab, prepared: Prepared) -> Iterator[Ranks]:
    """Start a rank on every host, connected in all ways; end them at the end."""
    given = prepared.given
    gloo = {
        GIVEN: list(range(len(given))),
        ORDERED: [given.index(name) for name in prepared.ordered],
    }
    with ranks_started(lab, given, "training_rank") as processes:
        ranks = Ranks(lab, processes)
        ranks.meet(rank_tasks(lab, given, plan=str(prepared.plan), gloo=gloo))
        yield ranks


def _sent_bytes(rack: str) -> int:
    with inside(rack):
        table = Path("/proc/thread-self/net/dev").read_text()
    (line,) = (line for line in table.splitlines() if line.strip().startswith(f"{UP_PORT}:"))
    # Eight counters of what was received, then those of what was sent (proc(5)).
    return int(line.partition(":")[2].split()[8])
