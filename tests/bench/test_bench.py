"""A bench from request to result, with a stand-in for the hosts and for the client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pytest

from plink.base.errors import PlinkError, WrongUseError
from plink.base.replacing import replace
from plink.bench import bench as bench_module
from plink.bench.bench import BenchOutcome, bench
from plink.bench.cases import build_predictor
from plink.bench.clients.client import Launch, Measured, Workload
from plink.bench.clients.mpi import MpiTools
from plink.bench.orders import NamedOrder
from plink.bench.plans import EnginePlan
from plink.bench.request import BenchRequest, Case
from plink.formats.cluster import Cluster
from plink.formats.comparison import ClientRecord
from plink.formats.hosts import Host
from plink.formats.measurements import RttMeasurement
from plink.formats.structs import encode
from plink.model.network import build_network
from plink.plans.forest import make_forest
from plink.probes.errors import HostError, HostListError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import SshOptions
from plink.probes.reach import Reached
from plink.probes.ssh.connect import SshOpener
from support.recorded_progress import RecordedProgress

HOSTS = [Host(name, f"10.0.0.{i}", ssh_address=f"192.0.2.{i}") for i, name in enumerate("abc")]


def request_of(rtt_us: Any = None, client: str = "gloo") -> BenchRequest:
    rtt = None
    if rtt_us is not None:
        counts = np.full((3, 3), 5)
        rtt = RttMeasurement({10.0: np.array(rtt_us, float)}, 10.0, counts, 0 * counts, tool="echo")
    cluster, workload = Cluster(HOSTS, rtt), Workload(4000, 0, 1)
    predictor = build_predictor(cluster, f"{client}-ring", 4000)
    cases = []
    for order in (NamedOrder("given", (0, 1, 2)), NamedOrder("random-1", (2, 1, 0))):
        cost = predictor.cost(order.order)
        cases.append(Case(client, "ring", order, workload, None, cost.time_s, cost.latency_us))
    return BenchRequest(
        cluster=cluster,
        source="cluster.json",
        cases=cases,
        compares_orders=True,
        network=build_network(cluster).network,
        groups=(),
        assumptions=(),
        rounds=2,
        seed=1,
        tools=MpiTools(mpicc="no-such-mpicc"),
    )


class StandIn:
    """A client whose methods do as they are told."""

    def __init__(self, on_start: Callable[[], None], on_launch: Callable[[], None]) -> None:
        self.on_start, self.on_launch = on_start, on_launch
        self.is_closed = False

    def start(self) -> ClientRecord:
        self.on_start()
        return ClientRecord({"gloo": "1"}, {})

    def launch(self, launch: Launch) -> Measured:
        self.on_launch()
        return Measured([0.5 + launch.seats[0]])

    def close(self) -> None:
        self.is_closed = True


def well() -> None:
    pass


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> Reached:
    """What `reach` returns; the hosts that it was asked for are in `asked_for`."""
    found = Reached(SshOpener(SshOptions()))

    def reach(listed: Sequence[ListedHost], *_: Any, **__: Any) -> Reached:
        cast("Any", found).asked_for = listed
        return found

    monkeypatch.setattr(bench_module, "reach", reach)
    monkeypatch.setattr(bench_module, "describe", lambda _entries, _reached: [])
    return found


def run(
    monkeypatch: pytest.MonkeyPatch,
    request: BenchRequest,
    client: StandIn,
    progress: RecordedProgress | None = None,
) -> BenchOutcome:
    monkeypatch.setattr(bench_module, "GlooClient", lambda *_: client)
    return bench(request, progress or RecordedProgress())


def test_hosts_are_sought_where_the_cluster_file_says(
    reached: Reached, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = StandIn(well, well)
    done = run(monkeypatch, request_of(), client)
    asked_for: list[ListedHost] = cast("Any", reached).asked_for
    assert [host.ssh_address for host in asked_for] == ["192.0.2.0", "192.0.2.1", "192.0.2.2"]
    assert {host.place for host in asked_for} == {"cluster.json"}
    assert done.stopped is None
    assert client.is_closed


def test_a_name_that_cannot_be_resolved_asks_for_the_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def reach(listed: Sequence[ListedHost], *_: Any, **__: Any) -> Reached:
        raise HostListError(f"{listed[0].place}: a cannot be resolved", "correct the list")

    monkeypatch.setattr(bench_module, "reach", reach)
    with pytest.raises(WrongUseError, match=r"cluster\.json: a cannot be resolved") as caught:
        run(monkeypatch, request_of(), StandIn(well, well))
    assert "-F" in (caught.value.hint or "")


def test_every_host_that_cannot_be_reached_is_named(
    reached: Reached, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached.failures += [HostError("a", "is off", "look"), HostError("c", "is on fire", "look")]
    progress = RecordedProgress()
    with pytest.raises(PlinkError, match="2 of 2 hosts cannot take part") as caught:
        run(
            monkeypatch,
            request_of([[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
            StandIn(well, well),
            progress,
        )
    assert progress.said == ["a: is off", "c: is on fire"]
    assert caught.value.hint == "look"
    del reached.failures[1]
    with pytest.raises(HostError, match="is off"):
        run(monkeypatch, request_of(), StandIn(well, well))


def test_a_tool_that_is_not_here_is_missed_before_any_host_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bench_module, "reach", lambda *_, **__: pytest.fail("it connected"))
    with pytest.raises(PlinkError, match="no no-such-mpicc"):
        bench(request_of(client="openmpi"), RecordedProgress())


@pytest.mark.parametrize(
    "client", [StandIn(interrupt, well), StandIn(well, interrupt)], ids=["starting", "launching"]
)
@pytest.mark.usefixtures("reached")
def test_ctrl_c_before_anything_was_measured_is_an_interrupt(
    client: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, request_of(), client)
    assert client.is_closed


@pytest.mark.usefixtures("reached")
def test_clients_of_one_bench_share_its_rounds_and_only_the_engine_gets_plans(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[str, bool]] = []
    idle_limits_s: dict[str, float] = {}

    class Noting(StandIn):
        def __init__(self, name: str) -> None:
            super().__init__(well, well)
            self.name = name

        def launch(self, launch: Launch) -> Measured:
            seen.append((self.name, launch.forest is not None))
            return super().launch(launch)

    clients = {name: Noting(name) for name in ("engine", "gloo")}
    for name, title in (("engine", "EngineClient"), ("gloo", "GlooClient")):

        def make(
            _hosts: object,
            _python: object,
            idle_limit_s: float,
            name: str = name,
            **_options: object,
        ) -> StandIn:
            idle_limits_s[name] = idle_limit_s
            return clients[name]

        monkeypatch.setattr(bench_module, title, make)
    request = request_of()
    parents = [[-1, 0, 0]]
    plan = EnginePlan("tree", "tree", make_forest([1.0], parents, parents), (0, 1, 2), (), None)
    engine = replace(request.cases[0], client="engine", algorithm="tree", plan=plan)
    mixed = replace(request, cases=[*request.cases, engine], compares_orders=False)
    done = bench(mixed, RecordedProgress())
    assert sorted(seen) == [("engine", True)] * 2 + [("gloo", False)] * 4
    assert list(done.result.setting.clients) == ["gloo", "engine"]
    assert [(row.client, row.order) for row in done.result.rows] == [
        ("gloo", "given"),
        ("gloo", "random-1"),
        ("engine", "given"),
    ]
    assert done.orders is None
    assert all(client.is_closed for client in clients.values())
    # The engine waits while both of Gloo's cases run twice, each up to its launch's limit.
    assert idle_limits_s["engine"] > 4 * engine.workload.launch_limit_s
    assert idle_limits_s["engine"] > idle_limits_s["gloo"]


NAN = float("nan")


@pytest.mark.parametrize(
    ("rtt_us", "predicted_us", "said", "filled", "unmeasured"),
    [
        (None, None, "no round-trip times", 0, []),
        ([[NAN] * 3] * 3, None, "no round-trip times", 0, []),
        ([[0, 10, NAN], [10, 0, 20], [NAN, 20, 0]], 50.0, "1 pair not measured", 1, []),
        ([[0, 10, NAN], [10, 0, NAN], [NAN] * 3], 30.0, "no measurement reaches c", 2, ["c"]),
        ([[0, 10, 30], [10, 0, 20], [30, 20, 0]], 60.0, None, 0, []),
    ],
)
@pytest.mark.usefixtures("reached")
def test_what_is_predicted_from_guesses_is_said(
    monkeypatch: pytest.MonkeyPatch,
    *,
    rtt_us: Any,
    predicted_us: float | None,
    said: str | None,
    filled: int,
    unmeasured: list[str],
) -> None:
    progress = RecordedProgress()
    done = run(monkeypatch, request_of(rtt_us), StandIn(well, well), progress)
    assert done.orders is not None
    data = encode(done.orders)
    assert [row["predicted_us"] for row in data["rows"]] == [predicted_us] * 2
    assert (data["filled_pairs"], data["unmeasured_hosts"]) == (filled, unmeasured)
    assert len(progress.said) == (said is not None)
    assert said is None or said in progress.said[0]
