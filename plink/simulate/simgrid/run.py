"""One simulation: a network and what is sent, to the program; the simulated time back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.base.errors import PlinkError
from plink.simulate.schedule import COMPUTE, Numbers, Schedule, messages_of
from plink.simulate.simgrid.platforms import Dragonfly, FatTree, Platform, Zones
from plink.simulate.simgrid.program import simulator

# Messages of libraries of MPI that are smaller leave before their receiver asks for them (Open
# MPI's eager limit of TCP).
EAGER_BYTES = 65_536

# The algorithms of SMPI 3.32, by collective: its own by name, and the selectors of libraries.
SELECTORS = ("ompi", "mpich", "mvapich2", "impi")
ALL_REDUCES = (
    *SELECTORS,
    "lr",
    "rdb",
    "rab",
    "rab1",
    "rab2",
    "rab_rdb",
    "redbcast",
    "ompi_ring_segmented",
    "smp_binomial",
    "smp_rdb",
    "smp_rsag",
    "smp_rsag_lr",
    "smp_rsag_rab",
    "mvapich2_rs",
    "mvapich2_two_level",
    "default",
)

_NS = 1e-9
_HEADER = "end\n"
_ANSWER = b"answer "
# What is left of a flow counts as nothing below a hundred-thousandth of this, in bytes.
_COARSE = ("--cfg=surf/precision:100",)


@dataclass(frozen=True)
class Simulated:
    """Result of a simulation.

    Args:
        time_s: from the begin to the end of the last rank, in simulated seconds.
        seconds: that the simulation took.
        busy_s: (lanes,) how long each had something to send, where that was asked.
    """

    time_s: float
    seconds: float
    busy_s: npt.NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Change:
    """A network that changes while something is sent.

    Args:
        at_s: when, in simulated seconds.
        after: the network from then on: the same one, but for what links carry.
    """

    at_s: float
    after: Zones


@dataclass(frozen=True)
class Graph:
    """Operations as the program has them.

    Args:
        source, destination: (V,) hosts; the same where nothing crosses the network.
        amount: (V,) bytes, or seconds where nothing crosses the network.
        lane: (V,) messages of the same lane go one after the other, as they come; -1 for none.
        before, after: (E,) what waits for what.
    """

    source: npt.NDArray[np.int32]
    destination: npt.NDArray[np.int32]
    amount: npt.NDArray[np.float64]
    lane: npt.NDArray[np.int32]
    before: Numbers
    after: Numbers


def graph_of(
    schedule: Schedule, host_of: Sequence[int] | npt.NDArray[np.intp], eager_bytes: float
) -> Graph:
    """Return a schedule with rank r on host `host_of[r]`, message by message.

    A message of at least `eager_bytes` begins when both its ranks have come to it, and ends for
    both at once; a smaller one leaves when its sender has come to it, who goes on at once, and
    behind those that left for the same rank before: a connection keeps their sequence.

    Args:
        schedule: whose messages match (`plink.simulate.schedule.check`).
        host_of: of every rank; ranks of one host exchange data for free.
        eager_bytes: as above; 0 for no such messages, infinite for no others.
    """
    hosts = np.asarray(host_of, dtype=np.int32)
    found = messages_of(schedule)
    sizes = schedule.amount[found.sends]
    is_eager = sizes < eager_bytes
    count = schedule.operations
    # Sends and receives are moments; the message is an operation of its own.
    messages = np.arange(count, count + len(sizes))
    source = hosts[schedule.rank].copy()
    destination = source.copy()
    amount = np.where(schedule.kind == COMPUTE, schedule.amount * _NS, 0.0)
    eager, met = np.flatnonzero(is_eager), np.flatnonzero(~is_eager)
    # The send of a message that waits for its receiver begins the message with the receive, and
    # both end after it: what waits for them waits for the message.
    stands_for = np.arange(count)
    stands_for[found.sends[met]] = messages[met]
    stands_for[found.receives[met]] = messages[met]
    own_before = stands_for[schedule.before]
    before = np.concatenate(
        [own_before, found.sends[eager], messages[eager], found.sends[met], found.receives[met]]
    )
    after = np.concatenate(
        [schedule.after, messages[eager], found.receives[eager], messages[met], messages[met]]
    )
    pairs = schedule.rank[found.sends] * schedule.ranks + schedule.peer[found.sends]
    lane = np.full(count + len(sizes), -1, dtype=np.int32)
    lane[messages[eager]] = np.unique(pairs[eager], return_inverse=True)[1].ravel()
    return Graph(
        np.concatenate([source, hosts[schedule.rank[found.sends]]]),
        np.concatenate([destination, hosts[schedule.rank[found.receives]]]),
        np.concatenate(
            [
                amount,
                np.where(
                    hosts[schedule.rank[found.sends]] == hosts[schedule.rank[found.receives]],
                    0.0,
                    sizes,
                ),
            ]
        ),
        lane,
        before,
        after,
    )


def run_schedule(
    platform: Platform,
    schedule: Schedule,
    host_of: Sequence[int] | npt.NDArray[np.intp],
    *,
    eager_bytes: float = EAGER_BYTES,
    timeout_s: float | None = None,
) -> Simulated:
    """Run a schedule with rank r on host `host_of[r]`.

    Raises:
        PlinkError: SimGrid is not there, or it failed.
        TimeoutError: it took longer than that.
    """
    return run_graph(platform, graph_of(schedule, host_of, eager_bytes), timeout_s=timeout_s)


def run_graph(
    platform: Platform,
    graph: Graph,
    *,
    tells_lanes: bool = False,
    change: Change | None = None,
    ends_together: bool = False,
    timeout_s: float | None = None,
) -> Simulated:
    """Run operations.

    Args:
        platform: the network.
        graph: the operations.
        tells_lanes: say how long each lane had something to send.
        change: of the network meanwhile; None for none.
        ends_together: flows that have next to nothing left end at once, instead of one by one by
            what rounding left of each, which of many flows takes longest. Latencies are left out.
        timeout_s: when to give up.

    Raises:
        PlinkError: SimGrid is not there, or it failed.
        TimeoutError: it took longer than that.
        ValueError: a link that is unlimited cannot become limited meanwhile, nor the reverse.
    """
    operations = len(graph.source)
    order = np.argsort(graph.before, kind="stable")
    starts = np.searchsorted(graph.before[order], np.arange(operations + 1))
    head, arrays = _network(platform)
    changes = [] if change is None else _changes(platform, change)
    lanes = int(graph.lane.max(initial=-1)) + 1
    words = f"{lanes} {int(tells_lanes)} {len(changes)}"
    return _run(
        f"{head}schedule {operations} {len(order)} {words}\n",
        [
            *arrays,
            graph.source,
            graph.destination,
            graph.amount,
            graph.lane,
            starts.astype(np.int64),
            graph.after[order].astype(np.int32),
            np.array([each[0] for each in changes], dtype=np.float64),
            np.array([each[1] for each in changes], dtype=np.int32),
            np.array([each[2] for each in changes], dtype=np.int32),
            np.array([each[3] for each in changes], dtype=np.float64),
        ],
        timeout_s,
        _COARSE if ends_together else (),
    )


def _changes(platform: Platform, change: Change) -> list[tuple[float, int, int, float]]:
    """Return changes: when, which kind of link, of which host or zone, and its new rate."""
    if not isinstance(platform, Zones):
        raise ValueError("only a network of zones changes")
    found = []
    for kind, name in enumerate(("send_bytes_s", "receive_bytes_s", "up_bytes_s", "down_bytes_s")):
        before, after = getattr(platform, name), getattr(change.after, name)
        if (np.isinf(before) != np.isinf(after)).any():
            raise ValueError("a link that is unlimited stays so")
        found += [
            (change.at_s, kind, int(place), float(after[place]))
            for place in np.flatnonzero(before != after)
        ]
    return found


def run_smpi(
    platform: Platform,
    collective: str,
    algorithm: str,
    size_bytes: int,
    host_of: Sequence[int] | npt.NDArray[np.intp],
    *,
    eager_bytes: int = EAGER_BYTES,
    timeout_s: float | None = None,
) -> Simulated:
    """Run a collective of SMPI, the code of real libraries, one call of it with rank r on a host.

    Args:
        platform: the network.
        collective: such as `all-reduce`.
        algorithm: of SMPI, or one of its selectors.
        size_bytes: of the buffer.
        host_of: (N,) of every rank.
        eager_bytes: smaller messages leave before their receiver asks for them.
        timeout_s: when to give up.

    Raises:
        PlinkError: SimGrid is not there, or it failed.
        TimeoutError: it took longer than that.
    """
    hosts = np.asarray(host_of, dtype=np.int32)
    head, arrays = _network(platform)
    line = f"smpi {collective} {algorithm} {size_bytes} {eager_bytes} {len(hosts)}\n"
    return _run(head + line, [*arrays, hosts], timeout_s)


def _network(platform: Platform) -> tuple[str, list[npt.NDArray[np.generic]]]:
    """Return the line that describes a network, and its arrays."""
    hosts = platform.hosts
    if isinstance(platform, FatTree):
        sizes = (*platform.down, *platform.up, *platform.links)
        rate = f"{platform.rate_bytes_s:.17g} {platform.hop_s:.17g}"
        words = " ".join(map(str, sizes))
        return f"fat-tree {hosts} {rate} {len(platform.down)} {words}\n", []
    if isinstance(platform, Dragonfly):
        words = (
            f"{platform.groups} {platform.group_links} {platform.chassis} {platform.chassis_links} "
            f"{platform.routers} {platform.router_links} {platform.nodes}"
        )
        rate = f"{platform.rate_bytes_s:.17g} {platform.hop_s:.17g}"
        return f"dragonfly {hosts} {rate} {words}\n", []
    return _zones(platform)


def _zones(platform: Zones) -> tuple[str, list[npt.NDArray[np.generic]]]:
    arrays: list[npt.NDArray[np.generic]] = [
        platform.parent.astype(np.int32),
        platform.up_bytes_s.astype(np.float64),
        platform.down_bytes_s.astype(np.float64),
        platform.latency_s.astype(np.float64),
        platform.zone_of.astype(np.int32),
        platform.send_bytes_s.astype(np.float64),
        platform.receive_bytes_s.astype(np.float64),
        platform.host_latency_s.astype(np.float64),
    ]
    # Streams of C++ read no infinity in text; arrays hold it as it is.
    has_matrix = platform.between_s is not None
    if platform.between_s is not None:
        arrays.append(np.ascontiguousarray(platform.between_s, dtype=np.float32))
    return f"zones {platform.hosts} {len(platform.parent)} {int(has_matrix)}\n", arrays


def _run(
    head: str,
    arrays: Sequence[npt.NDArray[np.generic]],
    timeout_s: float | None,
    options: Sequence[str] = (),
) -> Simulated:
    program = simulator()
    content = b"".join([(head + _HEADER).encode(), *(array.tobytes() for array in arrays)])
    try:
        found = subprocess.run(
            [str(program), *options],
            input=content,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"the simulation takes longer than {timeout_s:g} s") from None
    except OSError as error:
        raise PlinkError(f"the simulator does not start: {error}") from None
    # What SMPI says comes before.
    _, begin, rest = found.stdout.partition(_ANSWER)
    if found.returncode or not begin:
        lines = found.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = lines[0][:200] if lines else f"it ended with status {found.returncode}"
        raise PlinkError(f"the simulation failed: {reason}")
    line, _, numbers = rest.partition(b"\n")
    data = json.loads(line)
    busy_s = np.frombuffer(numbers, dtype=np.float64) if numbers else None
    return Simulated(float(data["time_s"]), float(data["seconds"]), busy_s)
