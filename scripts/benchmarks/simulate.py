"""Value of plink's orders at scale, simulated by SimGrid, and plink's model beside it.

gain: racks of 16 hosts at 10 Gbit/s whose uplinks are oversubscribed; all-reduces run as SMPI's
code of them does (a ring, recursive doubling, Rabenseifner's), in the sequence of the racks, in
random orders, and in plink's.

lab: the same Gloo rings as the lab ran, and the times of labs drawn at random.

large: a large data centre.

servers: placements of servers beside all-reduces.

control: what ranks say to each other until they agree on what is reduced next.

tuner: a job that the tuner follows while the network changes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchkit.accuracy_simulated import PAYLOAD, beside_measured
from benchkit.arguments import numbers, words
from benchkit.report import Report
from benchkit.simgrid import control, servers, tuner
from benchkit.simgrid.centres import PER_RACK, centre_of, of_model, time_text
from plink.simulate.control.negotiation import MODES
from plink.simulate.datacentres import racks
from plink.simulate.making import schedule_of_table
from plink.simulate.request import SimulationRequest
from plink.simulate.simgrid.run import run_schedule
from plink.simulate.simulation import Row, simulate
from plink.solvers.collectives.registry import find

EXAMPLE = "--hosts 64,128 --oversubscription 4 --random 5"
QUICK = (
    "--hosts 64 --oversubscription 1,4 --random 1 --size 5000000 --large 0 --workers 8 --ports 1,8 "
    "--server-racks 2 --control-ranks 64 --ranks 50 --shapes 1"
)

_GAIN = ("hosts", "uplinks", "algorithm", "order", "given", "random", "gain", "of model", "took")
POINTS = ("gain", "lab", "large", "servers", "control", "tuner")

# A Gloo ring of 10 MB over 4 racks of 4 hosts, links and uplinks of 400 Mbit/s, by the edges that
# leave each rack: s, as the lab measured them (docs/predict.md).
_LAB_S = {1: 0.44, 2: 0.80, 3: 1.19, 4: 1.61}
_LAB_BYTES = 10_000_000

# Along a plan of more hosts too many chunks are under way for a simulation of minutes: what one
# host sends to another is one flow there.
_MOST_PLANNED = 128


@dataclass
class _Found:
    """Summary of all tables."""

    of_model: list[float] = field(default_factory=list)
    of_lab: list[float] = field(default_factory=list)
    of_rings: list[float] = field(default_factory=list)
    of_exchanges: list[float] = field(default_factory=list)
    most_seconds: float = 0.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--only", nargs="+", choices=POINTS, help="some of the points")
    parser.add_argument("--hosts", type=numbers, default=[64, 128, 256, 512], help="in all")
    parser.add_argument("--oversubscription", type=numbers, default=[1, 2, 4], help="of uplinks")
    default = words("smpi:lr,smpi:rdb,smpi:ompi,openmpi-rabenseifner,plan:2lha")
    parser.add_argument("--algorithms", type=words, default=default, help="as plink simulate has")
    parser.add_argument("--size", type=int, default=20_000_000, help="bytes of the buffer")
    parser.add_argument("--random", type=int, default=2, help="random orders")
    parser.add_argument("--search", type=float, default=2.0, help="seconds for plink's order")
    parser.add_argument("--timeout", type=float, default=600.0, help="of each simulation")
    parser.add_argument("--rounds", type=int, default=0, help="of rings, simulate so many; 0: all")
    parser.add_argument("--flows", action="store_true", help="plans of any size as flows")
    parser.add_argument("--large", type=int, default=10, help="racks of 138 hosts; 0 for none")
    parser.add_argument("--workers", type=numbers, default=[8, 16, 32], help="of servers, a rack")
    parser.add_argument("--ports", type=numbers, default=[1, 4, 8, 16, 32], help="of a server")
    parser.add_argument("--server-racks", type=numbers, default=[4, 8], help="of 8 workers each")
    ranks = numbers("512,2048,8192")
    parser.add_argument("--control-ranks", type=numbers, default=ranks, help="of control")
    parser.add_argument("--modes", type=words, default=list(MODES), help="of control")
    tuner.add_arguments(parser)


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Simulate and print the tables."""
    points = arguments.only or POINTS
    found = _Found()
    if "gain" in points:
        report.table(
            _GAIN,
            _by_size(arguments, found),
            title="Gain by hosts, oversubscription and algorithm",
        )
    if "lab" in points:
        report.table(
            ("edges that leave a rack", "lab", "SimGrid", "of lab"),
            _beside_the_lab(found),
            title="A Gloo ring of 10 MB on 16 hosts",
        )
        report.table(
            ("lab", "hosts", "algorithm", "order", "lab's time", "SimGrid", "of lab", "of model"),
            _beside_drawn_labs(found),
            title="20 MB on labs drawn at random",
        )
    if "large" in points and arguments.large:
        report.table(
            ("hosts", "algorithm", "given", "random", "random / given", "took"),
            _large(arguments),
            title="A large data centre, uplinks 4:1",
        )
    if "servers" in points:
        servers.show(arguments, report)
    if "control" in points:
        control.show(arguments, report)
    if "tuner" in points:
        tuner.show(arguments, report)
    _judge(found, report)


def _judge(found: _Found, report: Report) -> None:
    error = [abs(ratio - 1.0) for ratio in found.of_model]
    if error:
        report.at_most("plink's model beside SimGrid, median", 10, 100 * np.median(error), "%")
        report.say(
            f"plink's model beside SimGrid: {len(error)} times, 95th percentile "
            f"{100 * np.percentile(error, 95):.0f} %, greatest {100 * max(error):.0f} %"
        )
    rings = [abs(ratio - 1.0) for ratio in found.of_lab + found.of_rings]
    if rings:
        report.at_most("SimGrid beside the lab, rings, median", 10, 100 * np.median(rings), "%")
    others = [abs(ratio - 1.0) for ratio in found.of_exchanges]
    if others:
        report.at_most("SimGrid beside the lab, others, median", 10, 100 * np.median(others), "%")
    if found.most_seconds:
        report.at_most("a row of the first table", 300, found.most_seconds, "s")


def _by_size(arguments: argparse.Namespace, found: _Found) -> Iterator[Sequence[object]]:
    for hosts in arguments.hosts:
        for oversubscription in arguments.oversubscription:
            centre = centre_of(hosts // PER_RACK, PER_RACK, oversubscription)
            for name in arguments.algorithms:
                as_flows = name.startswith("plan:") and (arguments.flows or hosts > _MOST_PLANNED)
                request = SimulationRequest(
                    algorithms=[name],
                    size=arguments.size,
                    random_orders=arguments.random,
                    search_s=arguments.search,
                    seed=hosts,
                    timeout_s=arguments.timeout,
                    rounds=arguments.rounds,
                    as_flows=as_flows,
                )
                begin = time.monotonic()
                (row,) = simulate(centre.cluster, request, platform=centre.platform).rows
                took = time.monotonic() - begin
                _note(row, took, found)
                yield (hosts, f"{oversubscription}:1", *_cells(row, as_flows), f"{took:.0f} s")


def _note(row: Row, took: float, found: _Found) -> None:
    found.most_seconds = max(found.most_seconds, took)
    found.of_model += [
        times.predicted_s / times.simulated_s
        for times in (row.order, row.given, row.random)
        if times is not None and times.simulated_s and times.predicted_s
    ]


def _cells(row: Row, as_flows: bool) -> Sequence[str]:
    return (
        row.algorithm + ", flows" * as_flows,
        *(
            "-" if times is None else time_text(times.simulated_s)
            for times in (row.order, row.given, row.random)
        ),
        "-" if row.gain is None else f"{row.gain:.2f} x",
        " / ".join(filter(None, (of_model(row.order), of_model(row.random)))),
    )


def _beside_the_lab(found: _Found) -> Sequence[Sequence[object]]:
    centre = racks(4, 4, rate_gbit_s=0.4 * PAYLOAD, hop_us=6.0, oversubscription=4.0)
    schedule = schedule_of_table(find("gloo-ring").table(16, _LAB_BYTES))
    rows = []
    for edges, lab_s in _LAB_S.items():
        order = _leaving(edges)
        simulated = run_schedule(centre.platform, schedule, order, eager_bytes=float("inf"))
        found.of_lab.append(simulated.time_s / lab_s)
        rows.append(
            (edges, f"{lab_s:.2f} s", f"{simulated.time_s:.2f} s", f"{found.of_lab[-1]:.2f}")
        )
    return rows


def _beside_drawn_labs(found: _Found) -> Iterator[Sequence[object]]:
    for one in beside_measured():
        of_lab, of_model = one.simulated_s / one.measured_s, one.simulated_s / one.model_s
        found.of_model.append(1.0 / of_model)
        (found.of_rings if one.algorithm.endswith("ring") else found.of_exchanges).append(of_lab)
        times = (f"{one.measured_s:.2f} s", f"{one.simulated_s:.2f} s")
        yield (
            one.seed,
            one.hosts,
            one.algorithm,
            one.order,
            *times,
            f"{of_lab:.2f}",
            f"{of_model:.2f}",
        )


def _leaving(edges: int) -> list[int]:
    """An order of 4 racks of 4 hosts in which so many ring edges leave each rack."""
    blocks = np.array_split(np.arange(4), edges)
    return [4 * rack + int(host) for block in blocks for rack in range(4) for host in block]


def _large(arguments: argparse.Namespace) -> Iterator[Sequence[object]]:
    """Recursive doubling and Rabenseifner's, whose rounds are few."""
    centre = centre_of(arguments.large, 138, 4)
    hosts = centre.platform.hosts
    shuffled = np.random.default_rng(1).permutation(hosts)
    for name in ("openmpi-recursive-doubling", "openmpi-rabenseifner"):
        begin = time.monotonic()
        schedule = schedule_of_table(find(name).table(hosts, arguments.size))
        times: list[float | None] = []
        for order in (np.arange(hosts), shuffled):
            try:
                found = run_schedule(centre.platform, schedule, order, timeout_s=arguments.timeout)
            except TimeoutError:
                times.append(None)
            else:
                times.append(found.time_s)
        given, random = times
        yield (
            hosts,
            name,
            *map(time_text, times),
            f"{random / given:.2f} x" if given and random else "-",
            f"{time.monotonic() - begin:.0f} s",
        )
