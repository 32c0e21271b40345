"""SimGrid's times are those that can be computed by hand, and those of plink's own model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plink.base.errors import PlinkError
from plink.model.network import build_network
from plink.simulate.datacentres import DataCentre, dragonfly, fat_tree, racks
from plink.simulate.making import schedule_of_table
from plink.simulate.schedule import Schedule
from plink.simulate.simgrid import program
from plink.simulate.simgrid.run import run_schedule, run_smpi
from plink.simulate.traces.goal import parse
from plink.solvers.collectives.registry import find
from plink.solvers.contention.time import TableTimer

pytestmark = pytest.mark.needs("simgrid")

HOP_S = 7e-6
RATE = 10e9 / 8
DATA_CENTRES = (
    racks(4, 4, rate_gbit_s=10, hop_us=7, oversubscription=4),
    racks(4, 3, rate_gbit_s=10, hop_us=7, rows=2),
    fat_tree([4, 2, 2], [1, 2, 2], [1, 1, 1], rate_gbit_s=10, hop_us=7),
    dragonfly(3, 2, 4, 2, rate_gbit_s=10, hop_us=7),
)


@pytest.fixture(autouse=True)
def simgrid() -> None:
    """Skip where there is no SimGrid."""
    try:
        program.simulator()
    except PlinkError as error:
        pytest.skip(str(error))


def there_and_back(size: int) -> Schedule:
    """A message, and one as long back."""
    return parse(
        f"num_ranks 2\nrank 0 {{\na: send {size}b to 1\nb: recv {size}b from 1\nb requires a\n}}\n"
        f"rank 1 {{\na: recv {size}b from 0\nb: send {size}b to 0\nb requires a\n}}\n",
        "text",
    )


def sends(flows: int, size: int) -> Schedule:
    """Rank r sends to rank r + `flows`, all at once."""
    lines = [f"num_ranks {2 * flows}"]
    for rank in range(flows):
        lines += [f"rank {rank} {{", f"send {size}b to {rank + flows}", "}"]
        lines += [f"rank {rank + flows} {{", f"recv {size}b from {rank}", "}"]
    return parse("\n".join(lines), "text")


@pytest.mark.parametrize("centre", DATA_CENTRES, ids=lambda centre: centre.text)
def test_round_trips_are_what_the_cluster_says(centre: DataCentre) -> None:
    assert centre.cluster.rtt is not None
    rtt_us = centre.cluster.rtt.readings_us
    rng = np.random.default_rng(1)
    for _ in range(6):
        pair = rng.choice(centre.platform.hosts, 2, replace=False)
        found = run_schedule(centre.platform, there_and_back(1), pair)
        assert found.time_s * 1e6 == pytest.approx(rtt_us[tuple(pair)], abs=0.01)


def test_flows_share_an_uplink_evenly() -> None:
    platform = DATA_CENTRES[0].platform
    size = 10_000_000
    # Four hosts of a rack to four others: the uplink carries what one host's link does.
    for flows in (1, 2, 4):
        hosts = [*range(flows), *range(4, 4 + flows)]
        found = run_schedule(platform, sends(flows, size), hosts)
        assert found.time_s == pytest.approx(flows * size / RATE + 4 * HOP_S, rel=1e-4)


def test_far_flows_get_as_much_as_near_ones() -> None:
    # Both end at host 1: one from its own rack, one from another.
    text = "num_ranks 3\nrank 0 {\nsend 1000000b to 1\n}\nrank 2 {\nsend 1000000b to 1\n}\n"
    text += "rank 1 {\nrecv 1000000b from 0\nrecv 1000000b from 2\n}\n"
    found = run_schedule(DATA_CENTRES[0].platform, parse(text, "text"), [0, 1, 8])
    assert found.time_s == pytest.approx(2_000_000 / RATE + 4 * HOP_S, rel=0.01)


def test_computing_takes_its_time_and_ranks_of_a_host_exchange_for_free() -> None:
    text = "num_ranks 2\nrank 0 {\na: calc 2000000\nb: send 1000000b to 1\nb requires a\n}\n"
    text += "rank 1 {\nrecv 1000000b from 0\n}\n"
    found = run_schedule(DATA_CENTRES[0].platform, parse(text, "text"), [3, 3])
    assert found.time_s == pytest.approx(2e-3, rel=1e-9)


def test_large_messages_wait_for_their_receiver() -> None:
    text = "num_ranks 2\nrank 0 {\nsend 100000b to 1\n}\n"
    text += "rank 1 {\na: calc 1000000\nb: recv 100000b from 0\nb requires a\n}\n"
    schedule = parse(text, "text")
    transfer_s = 100_000 / RATE + 2 * HOP_S
    platform = DATA_CENTRES[0].platform
    met = run_schedule(platform, schedule, [0, 1], eager_bytes=0)
    left = run_schedule(platform, schedule, [0, 1], eager_bytes=float("inf"))
    assert met.time_s == pytest.approx(1e-3 + transfer_s, rel=1e-6)
    assert left.time_s == pytest.approx(1e-3, rel=1e-6)


@pytest.mark.parametrize("eager_bytes", [0.0, float("inf")])
def test_messages_to_one_rank_follow_each_other_closely(eager_bytes: float) -> None:
    text = "num_ranks 2\nrank 0 {\n" + 10 * "send 100000b to 1\n" + "}\n"
    text += "rank 1 {\n" + 10 * "recv 100000b from 0\n" + "}\n"
    platform = DATA_CENTRES[0].platform
    found = run_schedule(platform, parse(text, "text"), [0, 1], eager_bytes=eager_bytes)
    assert found.time_s == pytest.approx(1_000_000 / RATE + 2 * HOP_S, rel=1e-6)


def test_a_small_message_waits_behind_a_large_one_of_its_connection() -> None:
    text = "num_ranks 2\nrank 0 {\nsend 1000000b to 1 tag 1\nb: send 1b to 1 tag 2\n"
    text += "c: recv 1b from 1\n}\nrank 1 {\nrecv 1000000b from 0 tag 1\n"
    text += "b: recv 1b from 0 tag 2\nc: send 1b to 0\nc requires b\n}\n"
    platform = DATA_CENTRES[0].platform
    found = run_schedule(platform, parse(text, "text"), [0, 1], eager_bytes=float("inf"))
    assert found.time_s == pytest.approx(1_000_000 / RATE + 4 * HOP_S, rel=1e-4)


@pytest.mark.parametrize(
    ("own", "name"),
    [
        ("lr", "openmpi-ring"),
        ("rdb", "openmpi-recursive-doubling"),
        ("rab", "openmpi-rabenseifner"),
    ],
)
def test_tables_take_what_real_code_takes_and_the_model_says(own: str, name: str) -> None:
    centre = DATA_CENTRES[0]
    size = 4_096_000  # a ring's messages wait for their receivers, too
    table = find(name).table(16, size)
    network = build_network(centre.cluster).network
    rng = np.random.default_rng(3)
    for order in (np.arange(16), rng.permutation(16), rng.permutation(16)):
        simulated = run_schedule(centre.platform, schedule_of_table(table), order)
        real = run_smpi(centre.platform, "all-reduce", own, size, order)
        assert real.time_s == pytest.approx(simulated.time_s, rel=0.02)
        assert TableTimer(table, network).time_s(order) == pytest.approx(real.time_s, rel=0.15)


@pytest.mark.parametrize("selector", ["ompi", "mpich", "impi"])
def test_selectors_of_libraries_run(selector: str) -> None:
    centre = DATA_CENTRES[0]
    found = run_smpi(centre.platform, "all-reduce", selector, 1_000_000, np.arange(16))
    assert 1e-4 < found.time_s < 1.0


def test_without_simgrid_its_package_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program.simulator.cache_clear()
    monkeypatch.setattr(program, "_HEADER", "not/there.h")
    with pytest.raises(PlinkError, match="SimGrid is not installed") as caught:
        program.simulator()
    assert caught.value.hint == "install libsimgrid-dev: apt-get install libsimgrid-dev"
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(PlinkError, match=r"no C\+\+ compiler"):
        program.simulator()
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("")
    with pytest.raises(PlinkError, match="keeps no simulator: Not a directory"):
        program.simulator()
    program.simulator.cache_clear()
