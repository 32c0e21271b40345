"""Gain of tuning in the lab: `plink autotune` beside a PyTorch job, on changing networks.

Scenarios: throttled-host, throttled-uplink, competing-flow, busy-processor, slow-drift, small,
tiny, quiet; or all: every one of them but quiet.

Eight hosts in namespaces; on each a process of PyTorch's on the plink backend that reduces
ResNet-50's gradients in DDP's buckets, computes nothing and checks every sum. The tuner has its
defaults. --scale is of the gradients and buckets; with links of 500 Mbit/s and a fifth of the
gradients, iterations take twice as long as with all of them on 5 Gbit/s. Below a fifth the engine
cannot even out chunks. small and tiny have gradients of 4 and 1 MB instead.

The network changes when the tuner has learned what is usual, and is as before when it has nothing
left to do. Then, on the changed network again and without a tuner: the first plan, and plans with
less and less on the hosts concerned, the best of which is the best static plan. --keep keeps the
tuner's log of each scenario, which `plink autotune replay` reads.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchkit.arguments import add_congestion_control, add_keep, add_seed, lab_options
from benchkit.gradients import buckets
from benchkit.labs import BenchLab, bench_lab
from benchkit.networks import NETWORKS
from benchkit.plans import other_plans, usual_plan, write_plan
from benchkit.processes import Daemon, autotuning
from benchkit.report import Report
from benchkit.tuned_figures import Figures, Iteration, Phases, figures, median_s, since_new_plan
from benchkit.tuned_job import Ranks, ranks_on
from benchkit.tuned_scenarios import SCENARIOS, Scenario, uplink_bits_s
from labkit.rates import parse_rate

EXAMPLE = "throttled-host --json throttled.json"
QUICK = "--no-search --minutes 0.5"
HEADER = (
    *("scenario", "before", "untouched", "tuned", "gain", "best static", "of the best"),
    *(
        "first new plan",
        "decisions",
        "seconds",
        "after, of before",
        "load max/min",
        "switch",
        "new plans",
    ),
    *("cost of being tuned", "wrong sums"),
)
ITEM_BYTES = 4
# Windows for which nothing has happened before a phase ends, and how long it lasts at most.
CALM_WINDOWS = 7
LEAST_WINDOWS = 12
# What is less than a sudden change is found by comparing ten windows.
RESTORED_WINDOWS = 15
PHASE_S = 90.0
LEARNING_S = 60.0
# Iterations by which a static plan is measured, and those before them.
STATIC = 8
UNCOUNTED = 2
# What being tuned costs is measured in turn.
COST_ROUNDS = 4
COST_ITERATIONS = 30


@dataclass(frozen=True)
class Done:
    """A scenario, measured.

    Args:
        found: of the tuned training.
        static_s: of the first plan on the changed network, without a tuner; None: not measured.
        best_s: of the best static plan.
        cost: the iteration time of a tuned job over that of an untuned one, where nothing happens.
        wrong: sums.
    """

    found: Figures
    static_s: float | None
    best_s: float | None
    cost: float | None
    wrong: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    names = [*SCENARIOS, "all"]
    parser.add_argument("scenarios", nargs="+", choices=names, metavar="SCENARIO", help="see above")
    parser.add_argument("--host-rate", default="500mbit", help="of every host's link")
    parser.add_argument("--scale", type=float, default=0.2, help="of every tensor's length")
    parser.add_argument("--compute-ms", type=float, default=0.0, help="of an iteration")
    parser.add_argument("--no-marks", action="store_true", help="of plink.torch.iteration()")
    parser.add_argument("--no-search", action="store_true", help="of the best static plan")
    parser.add_argument("--minutes", type=float, default=10.0, help="that quiet lasts")
    add_seed(parser)
    add_congestion_control(parser, "reno")
    add_keep(parser, "the tuner's logs")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Run the scenarios, print the table."""
    names = arguments.scenarios
    if "all" in names:
        names = [name for name in SCENARIOS if name != "quiet"]
    done: dict[str, Done] = {}
    with contextlib.suppress(KeyboardInterrupt):
        for name in names:
            done[name] = _run(SCENARIOS[name], arguments)
    report.measured = {name: asdict(one) for name, one in done.items()}
    report.table(HEADER, [_row(SCENARIOS[name], one) for name, one in done.items()])
    for name, one in done.items():
        _set_targets(name, one, report)


def _set_targets(name: str, done: Done, report: Report) -> None:
    found = done.found
    report.at_most(f"{name}: wrong sums", 0, done.wrong)
    if name == "quiet":
        report.at_most("quiet: plan changes", 0, sum(found.new_plans))
        if done.cost is not None:
            report.at_most("quiet: cost of being tuned", 1.0, 100 * (done.cost - 1), "%")
    if name in ("small", "tiny"):
        seconds = math.nan if found.seconds_to_plan is None else found.seconds_to_plan
        report.at_most(f"{name}: seconds until the first new plan", 30, seconds, "s")
    if name == "throttled-host":
        untouched_s = found.untouched_s if done.static_s is None else done.static_s
        report.at_least(f"{name}: gain", 1.27, untouched_s / found.tuned_s, "x")
        if done.best_s is not None:
            report.at_most(f"{name}: tuned over best static", 1.1, found.tuned_s / done.best_s, "x")
        decisions = math.nan if found.decisions is None else found.decisions
        report.at_most(f"{name}: decisions", 10, decisions)
        report.at_most(f"{name}: after over before", 1.05, found.after_s / found.before_s, "x")
        report.at_most(f"{name}: load at rest, max over min", 1.05, found.load_ratio, "x")


def _run(scenario: Scenario, arguments: argparse.Namespace) -> Done:
    rate = parse_rate(arguments.host_rate)
    if rate is None:
        raise SystemExit("error: links have to be limited")
    uplink = f"{uplink_bits_s(rate) / 1e6:g}mbit" if scenario.racks > 1 else "none"
    shape = {"racks": scenario.racks, "hosts": scenario.hosts_per_rack, "hops": 0}
    options = lab_options(arguments, uplink_rate=uplink, **shape)
    layers = list(NETWORKS["resnet50"]())
    scale = arguments.scale
    if scenario.size_bytes is not None:
        scale = scenario.size_bytes / (ITEM_BYTES * sum(b.items for b in buckets(layers)))
    items = [b.items for b in buckets(layers, scale)]
    with contextlib.ExitStack() as stack:
        lab = stack.enter_context(bench_lab(*options))
        keep = arguments.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        keep.mkdir(parents=True, exist_ok=True)
        ranks = stack.enter_context(
            ranks_on(lab, items, arguments.compute_ms / 1e3, marks=not arguments.no_marks)
        )
        return Bench(scenario, arguments, lab, ranks, rate, sum(items) * ITEM_BYTES).run(keep)


@dataclass(frozen=True)
class Bench:
    """A scenario in a standing lab.

    Args:
        scenario: what happens.
        arguments: of the command line.
        lab: that stands.
        ranks: on its hosts.
        rate_bits_s: of these.
        size_bytes: of an iteration's gradients.
    """

    scenario: Scenario
    arguments: argparse.Namespace
    lab: BenchLab
    ranks: Ranks
    rate_bits_s: float
    size_bytes: int

    def run(self, keep: Path) -> Done:
        """Run the job through the scenario, and return what was measured."""
        uplinks = uplink_bits_s(self.rate_bits_s)
        plan = usual_plan(self.lab, self.rate_bits_s, uplinks, self.size_bytes)
        path = write_plan(plan, self.lab.dir / "plan.json")
        log = keep.resolve() / f"{self.scenario.name}.log"
        machine = json.loads((self.lab.dir / "truth.json").read_text())["machine_address"]
        with autotuning(path, machine, log, is_quiet=True) as daemon:
            tuned = daemon.environment
            self.ranks.begin(tuned)
            self._iterate(UNCOUNTED)
            phases = self._go_through(daemon)
            iterations = self.ranks.end()
            entries = daemon.entries()
            cost = self._cost(tuned) if self.scenario.change is None else None
        static: dict[float, float] = {}
        if self.scenario.change is not None and not self.arguments.no_search:
            with self._change():
                static[1.0] = self._static_s(path)
                for part, other in other_plans(plan, self.scenario.hosts):
                    static[part] = self._static_s(write_plan(other, self.lab.dir / f"{part}.json"))
                    self._say(f"static plan, {part:.0%} of the share: {static[part]:.3f} s")
        best_s = min(static.values(), default=None)
        return Done(
            figures(iterations, entries, phases, best_s),
            static.get(1.0),
            best_s,
            cost,
            self.ranks.wrong,
        )

    def _cost(self, tuned: Mapping[str, str]) -> float:
        """The iteration time of a tuned job over that of one without a tuner, in turn."""
        untuned = {**tuned, "PLINK_AUTOTUNE": ""}
        times_s: dict[str, list[float]] = {"tuned": [], "untuned": []}
        for _ in range(COST_ROUNDS):
            for name, environment in (("tuned", tuned), ("untuned", untuned)):
                times_s[name] += self._seconds(environment, COST_ITERATIONS)
        return statistics.median(times_s["tuned"]) / statistics.median(times_s["untuned"])

    def _go_through(self, daemon: Daemon) -> Phases:
        self._calm(daemon, 0.0, "before the change", LEARNING_S)
        changing_s = time.time()
        if self.scenario.change is None:
            self._wait(60 * self.arguments.minutes)
            return Phases(changing_s, changing_s, time.time())
        with self._change():
            changed_s = time.time()
            self._calm(daemon, changed_s, "changed", PHASE_S)
            restored_s = time.time()
        self._calm(daemon, restored_s, "restored", PHASE_S, RESTORED_WINDOWS)
        return Phases(changing_s, changed_s, restored_s)

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        if self.scenario.change is None:
            raise ValueError("nothing changes")
        with self.scenario.change(self.lab, self.lab.in_rack_order(), self.rate_bits_s):
            yield

    def _calm(
        self,
        daemon: Daemon,
        since_s: float,
        phase: str,
        most_s: float,
        least_windows: int = LEAST_WINDOWS,
    ) -> None:
        """Wait until the tuner has nothing left to do."""
        ends_s = time.monotonic() + most_s
        while time.monotonic() < ends_s:
            self._wait(0.5)
            since = [entry for entry in daemon.entries() if entry.now_s > since_s]
            windows, calm = since_new_plan(since)
            if windows >= least_windows and calm >= CALM_WINDOWS:
                break
        latest: Sequence[Iteration] = self.ranks.iterations[-10:]
        self._say(
            f"{phase}: {median_s(latest):.3f} s an iteration, "
            f"plan {latest[-1].plan if latest else 'none'}"
        )

    def _static_s(self, path: Path) -> float:
        environment = {"PLINK_AUTOTUNE": "", "PLINK_PLAN": str(path)}
        return statistics.median(self._seconds(environment, STATIC))

    def _seconds(self, environment: Mapping[str, str], iterations: int) -> list[float]:
        """Return the seconds of so many training iterations; the first ones page everything in."""
        self.ranks.begin(environment)
        self._iterate(iterations + UNCOUNTED)
        return [each.seconds for each in self.ranks.end()[UNCOUNTED:]]

    def _iterate(self, iterations: int) -> None:
        """Wait until there are so many."""
        while len(self.ranks.iterations) < iterations:
            self._wait(0.05)

    def _wait(self, seconds: float) -> None:
        self.ranks.check()
        time.sleep(seconds)

    def _say(self, text: str) -> None:
        print(f"{self.scenario.name}: {text}", file=sys.stderr, flush=True)


def _row(scenario: Scenario, done: Done) -> list[str]:
    found = done.found
    untouched_s = found.untouched_s if done.static_s is None else done.static_s
    best_s = done.best_s
    return [
        scenario.text,
        f"{found.before_s:.3f} s",
        f"{untouched_s:.3f} s",
        f"{found.tuned_s:.3f} s",
        f"{untouched_s / found.tuned_s:.2f} x",
        "" if best_s is None else f"{best_s:.3f} s",
        "" if best_s is None else f"{found.tuned_s / best_s:.2f} x",
        "" if found.seconds_to_plan is None else f"{found.seconds_to_plan:.0f} s",
        "never" if found.decisions is None else str(found.decisions),
        "" if found.seconds_to_good is None else f"{found.seconds_to_good:.0f} s",
        f"{found.after_s / found.before_s:.3f} x",
        f"{found.load_ratio:.3f}",
        "" if found.switch_ratio is None else f"{found.switch_ratio:.2f} x",
        " + ".join(map(str, found.new_plans)),
        "" if done.cost is None else f"{100 * (done.cost - 1):+.1f} %",
        str(done.wrong),
    ]
