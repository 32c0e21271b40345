"""Threads that oversleep, and four remedies, simulated, beside Pumma et al. (figures 3, 10, 11)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

from benchkit.control_simulated.effort import Effort
from benchkit.control_simulated.resnet import at_the_end
from benchkit.control_simulated.trainings import (
    NETWORK,
    Means,
    means,
    means_of,
    places_of,
    training_of,
)
from benchkit.report import Report
from plink.simulate.control.costs import Often
from plink.simulate.control.data import DataPlane
from plink.simulate.control.training import Training
from plink.training.control import _native
from plink.training.control.graph import Graph, order_of
from plink.training.control.graphed import Graphed
from plink.training.control.settings import Settings

# A V100 in mixed precision with 32 images, compiled by XLA, which the paper does not say.
COMPUTE_S, DEVIATION = 0.045, 0.02
# Calibrated: all-reduces as they are at 24,576 GPUs on what TOPO leaves, spinning on the baseline's
# loss.
DATA = DataPlane(latency_s=0.00375, bytes_s=102.2e6 / 0.0675)
SPINNING = 0.3
# "Tens of milliseconds" (section III-D); how often is not said.
OVERSLEEP = Often(share=2e-4, by_s=0.02, seed=1)
SETTINGS = Settings(cycle_s=0.005, fusion_bytes=64 << 20)
LOSS = 0.697
# By how much throughput grows at most.
GAINS = {"GS": 0.10, "NBCS": 0.16, "SCP": 0.18, "TOPO": 0.21}
MISS = 0.25
HEADER = (
    "",
    "iteration, ms",
    "beyond computing and all-reduces",
    "throughput",
    "the paper's",
    "off",
)


def show(effort: Effort, report: Report) -> None:
    """All strategies on the same sleeps."""
    strategies = _Strategies(effort)
    asleep = replace(SETTINGS, is_blocking=False)
    baseline = strategies.means(SETTINGS)
    found = {
        "GS": strategies.means(replace(SETTINGS, common_sleep_every=1)),
        "NBCS": strategies.means(asleep, spinning=0.0),
        "SCP": strategies.means(SETTINGS, oversleep=None, spinning=0.0),
        "TOPO": strategies.by_graph(),
    }
    rows = [("baseline", *_times(baseline), "", "", "calibrated")]
    for name, one in found.items():
        gain = baseline.took_s / one.took_s - 1.0
        off = (1.0 + gain) / (1.0 + GAINS[name]) - 1.0
        verdict = "calibrated" if name == "TOPO" else _verdict(off)
        figures = f"{100 * gain:+.0f} %", f"+{100 * GAINS[name]:.0f} %"
        rows.append((name, *_times(one), *figures, verdict))
    # In a tree of ranks that sleep, each level waits for the one below to wake.
    for name, one in (
        ("NBCS, all below rank 0", strategies.means(asleep, spinning=0.0, mode="flat")),
        ("mode tree", strategies.means(SETTINGS, oversleep=None, spinning=0.0, mode="tree")),
    ):
        gain = baseline.took_s / one.took_s - 1.0
        rows.append((name, *_times(one), f"{100 * gain:+.0f} %", "", ""))
    report.table(HEADER, rows, title=f"Oversleep, {effort.ranks} ranks, simulated")
    loss = 1.0 - COMPUTE_S / baseline.took_s
    report.say(f"the baseline loses {100 * loss:.1f} %; the paper's loses {100 * LOSS:.1f} %")
    steps = ["baseline", *GAINS]
    for left_out in ("", "NBCS"):
        kept = [name for name in steps if name != left_out]
        times_s = [(found | {"baseline": baseline})[name].took_s for name in kept]
        ordered = sum(later <= before for before, later in pairwise(times_s))
        report.at_least(f"in order: {' <= '.join(kept)}", len(kept) - 1, ordered, "steps")


class _Strategies:
    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self._workload = at_the_end(COMPUTE_S, DEVIATION)

    def means(
        self,
        settings: Settings,
        *,
        oversleep: Often | None = OVERSLEEP,
        spinning: float = SPINNING,
        mode: str = "bitvector",
    ) -> Means:
        training = training_of(
            "bitvector" if mode == "flat" else mode,
            self._effort.ranks,
            self._workload,
            data=DATA,
            settings=settings,
            oversleep=oversleep,
            spinning=spinning,
            is_flat=mode == "flat",
            seed=self._effort.seed,
        )
        return means(training, self._effort.iterations)

    def by_graph(self) -> Means:
        """No all-reduce depends on another one."""
        requests = [request for call in self._workload.calls for request in call]
        graph = Graph([[] for _ in requests], dict(enumerate(requests)))
        order = order_of(graph, range(len(requests)), SETTINGS.fusion_bytes)
        machines = [
            Graphed(place, SETTINGS, partial(_native.Tree, place, SETTINGS))
            for place in places_of(self._effort.ranks)
        ]
        training = Training(
            machines, self._workload, NETWORK, DATA, order=order, seed=self._effort.seed
        )
        # The graph is learnt in the first, and agreed on by the second.
        training.run(2)
        return means_of(training.run(self._effort.iterations))


def _times(found: Means) -> tuple[str, str]:
    beyond = (found.took_s - COMPUTE_S - found.reduced_s) / found.took_s
    return f"{1e3 * found.took_s:.1f}", f"{100 * beyond:.0f} %"


def _verdict(off: float) -> str:
    return f"{'' if abs(off) <= MISS else 'missed: '}{100 * off:+.0f} %"
