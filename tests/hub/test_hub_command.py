"""`plink hub`: its verbs, what they print, and what they refuse."""

from __future__ import annotations

import json

import pytest

from support.plink_command import plink_here


def words(line: str) -> list[str]:
    return line.split()


def test_bounds_are_a_table_with_the_row_on_ports() -> None:
    done = plink_here(*words("hub bounds --model resnet269 --workers 8 --ports 8"))
    assert done.code == 0
    text = " ".join(done.stdout.split())
    assert "NCC 143 Gbit/s 17.8 Gbit/s 312 ms hidden" in text
    assert "all-reduce 31.2 Gbit/s - 546 ms network bound" in text
    assert "the paper prints 140 Gbit/s for NCC, where its own model size and time give 142.6" in (
        text
    )
    assert "k > N²/(2(N-1))" in text
    assert "all-reduce takes 0.875 of the servers' time" in text


def test_racks_get_the_inequality_and_the_links() -> None:
    line = "hub bounds --model 20MB --iteration 1 --workers 8 --link 400mbit --ports 4"
    done = plink_here(*f"{line} --racks 2 --uplink 200mbit --json".split())
    found = json.loads(done.stdout)["racks"]
    assert found["is_better"]
    assert found["links_sharded_s"] == pytest.approx(4 * found["links_hierarchy_s"])
    text = " ".join(plink_here(*f"{line} --racks 2 --uplink 200mbit".split()).stdout.split())
    assert "aggregation by racks helps" in text


def test_costs_take_ones_own_prices() -> None:
    done = plink_here(*words("hub cost --price gpu=25000 --gpus 8 --oversubscription 2 --json"))
    rows = json.loads(done.stdout)["rows"]
    assert [row["name"] for row in rows] == ["baseline", "hub"]
    assert all(row["total"] > 200_000 for row in rows)
    text = " ".join(plink_here("hub", "cost").stdout.split())
    assert "Table 6.3 is not reproduced" in text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("hub bounds --model lenet --workers 8", "neither a size nor a known"),
        ("hub bounds --model 1MB --workers 8", "has no known time of an iteration"),
        ("hub bounds --model resnet50 --workers 8 --racks 2", "--racks and --uplink go together"),
        (
            "hub bounds --model resnet50 --workers 8 --racks 3 --uplink 1gbit",
            "8 workers cannot be divided",
        ),
        ("hub bounds --model resnet50 --workers 8 --link fast", "--link 'fast' is not a rate"),
        ("hub bounds --model resnet50 --workers 8 --link 0gbit", "--link '0gbit' is not a rate"),
        ("hub cost --price cpu=3", "names no part of the cost model"),
        ("hub cost --price gpu=dear", "is not a number of dollars"),
        ("hub cost --price gpu=-3", "is not a number of dollars"),
        ("hub cost --switch-ports 40", "has none for workers beside a hub"),
        ("hub serf", "plink hub has no verb 'serf', expected"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(line: str, said: str) -> None:
    done = plink_here(*line.split())
    assert done.code == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
