"""The tuner on SimGrid's changing network, beside plink's own model of it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchkit.report import Report
from plink.plans.forest import Forest
from plink.simulate.jobs import Carried, by_model
from plink.simulate.network import Floats, State
from plink.simulate.simgrid.platforms import Zones
from plink.simulate.tuned import WINDOWS, simulate_tuning
from plink.simulate.tuning import OnSimGrid, state_of

Groups = npt.NDArray[np.intp]

_PER_RACK = 25
_RATE_BYTES_S = 5e9 / 8.0

_COLUMNS = (
    "network",
    "what changes",
    "before",
    "changed",
    "tuned",
    "fresh plan",
    "recovered",
    "of fresh",
    "gain",
    "plans",
    "model: changed, tuned",
    "a simulation",
    "took",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--ranks", type=int, default=1000, help="of the tuner: racks of 25")
    parser.add_argument("--shapes", type=int, default=4, help="odd shapes drawn for the tuner")
    parser.add_argument("--first-shape", type=int, default=100, help="the seed of the first")
    parser.add_argument("--windows", type=int, default=WINDOWS, help="of the tuner's runs")


@dataclass(frozen=True)
class _Scenario:
    """A network, how it changes, and how its flows are simulated."""

    network: str
    what: str
    platform: Zones
    usual: State
    changed: State
    by_chunk: bool = False


class _Timed:
    """Counts what simulations take."""

    def __init__(self, carry: OnSimGrid) -> None:
        self._carry = carry
        self.seconds: list[float] = []

    def __call__(
        self,
        collective: str,
        size_bytes: float,
        forest: Forest,
        state: State,
        change: tuple[float, State] | None = None,
    ) -> Carried:
        begin = time.monotonic()
        found = self._carry(collective, size_bytes, forest, state, change)
        self.seconds.append(time.monotonic() - begin)
        return found


def show(arguments: argparse.Namespace, report: Report) -> None:
    """Print the table and judge it."""
    of_fresh: list[float] = []
    needless: list[int] = []
    of_model: list[float] = []
    report.table(
        _COLUMNS,
        _rows(arguments, of_fresh, needless, of_model),
        title="The tuner on SimGrid's changing network",
    )
    if of_fresh:
        report.at_most("tuned over a fresh plan, greatest", 1.1, max(of_fresh), "x")
        report.at_most("plink's model beside SimGrid, greatest", 10, 100 * max(of_model), "%")
    if needless:
        report.at_most("new plans where nothing changes", 0, sum(needless))


def _rows(
    arguments: argparse.Namespace,
    of_fresh: list[float],
    needless: list[int],
    of_model: list[float],
) -> Iterator[Sequence[object]]:
    for each in _scenarios(arguments):
        begin = time.monotonic()
        carry = _Timed(OnSimGrid(each.platform, by_chunk=each.by_chunk))
        done = simulate_tuning(each.usual, each.changed, carry, windows=arguments.windows, seed=1)
        model = simulate_tuning(
            each.usual, each.changed, by_model, windows=arguments.windows, seed=1
        )
        took = time.monotonic() - begin
        if each.changed is each.usual:
            needless.append(len(done.plans))
        else:
            of_fresh.append(done.tuned_s / done.fresh_s)
        if not each.by_chunk:
            of_model += [
                abs(model.changed_s / done.changed_s - 1.0),
                abs(model.tuned_s / done.tuned_s - 1.0),
            ]
        times = (done.before_s, done.changed_s, done.tuned_s, done.fresh_s, done.recovered_s)
        yield (
            each.network,
            each.what,
            *(f"{time_s:.3f} s" for time_s in times),
            f"{done.tuned_s / done.fresh_s:.2f}",
            f"{done.changed_s / done.tuned_s:.2f} x",
            len(done.plans),
            f"{model.changed_s:.3f} s, {model.tuned_s:.3f} s",
            f"{np.median(carry.seconds):.1f} s",
            f"{took:.0f} s",
        )


def _scenarios(arguments: argparse.Namespace) -> Iterator[_Scenario]:
    count = max(2, arguments.ranks // _PER_RACK)
    platform = _platform(count, _PER_RACK)
    usual = state_of(platform)
    name = f"{count} racks of {_PER_RACK}"
    for what, changed in (
        ("a host at 40 %", usual.with_host(5, 0.4)),
        ("an uplink at 10 %", usual.with_uplink(1, 0.1)),
        ("nothing", usual),
    ):
        yield _Scenario(name, what, platform, usual, changed)
    small = _platform(4, 4)
    usual = state_of(small)
    for what, changed in (
        ("a host at 40 %", usual.with_host(5, 0.4)),
        ("an uplink at 20 %", usual.with_uplink(1, 0.2)),
        ("nothing", usual),
    ):
        yield _Scenario("4 racks of 4, chunks", what, small, usual, changed, by_chunk=True)
    for seed in range(arguments.first_shape, arguments.first_shape + arguments.shapes):
        yield _odd(seed)


def _platform(count: int, per_rack: int) -> Zones:
    """Racks at 5 Gbit/s, uplinks 4:1."""
    group_of = np.repeat(np.arange(count), per_rack)
    return _zones(group_of, np.full(len(group_of), _RATE_BYTES_S), np.full(count, 4.0))


def _zones(group_of: Groups, rates: Floats, oversubscription: Floats) -> Zones:
    """Racks of hosts with such rates, 2 µs a link."""
    racks = len(oversubscription)
    ups = np.bincount(group_of, rates, racks) / oversubscription
    return Zones(
        parent=np.array([-1] + [0] * racks, dtype=np.int32),
        up_bytes_s=np.array([np.inf, *ups]),
        down_bytes_s=np.array([np.inf, *ups]),
        latency_s=np.full(1 + racks, 2e-6),
        zone_of=(group_of + 1).astype(np.int32),
        send_bytes_s=rates,
        receive_bytes_s=rates,
        host_latency_s=np.full(len(group_of), 2e-6),
    )


def _odd(seed: int) -> _Scenario:
    """Unequal racks, hosts of unequal rates, and one thing that becomes slow."""
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 13, random.integers(2, 7))
    group_of = np.repeat(np.arange(len(sizes)), sizes)
    rates = _RATE_BYTES_S * random.choice([1.0, 1.0, 1.0, 2.0], len(group_of))
    platform = _zones(group_of, rates, np.full(len(sizes), float(random.choice([1.0, 2.0, 4.0]))))
    usual = state_of(platform)
    share = float(random.uniform(0.15, 0.45))
    changes: tuple[tuple[str, Callable[[], State]], ...] = (
        ("a host", lambda: usual.with_host(int(random.integers(len(group_of))), share)),
        ("an uplink", lambda: usual.with_uplink(int(random.integers(len(sizes))), share)),
    )
    what, made = changes[int(random.integers(2))]
    text = f"{' + '.join(map(str, sizes))} hosts (seed {seed})"
    return _Scenario(text, f"{what} at {share:.0%}", platform, usual, made())
