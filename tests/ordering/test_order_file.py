"""The order file: what is written is read; what cannot be is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.refusals import is_one_sentence, refusal
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats import document
from plink.formats import order as order_file
from plink.formats.hosts import Host
from plink.formats.order import CostRange, Order, Proof, Solver, TimeCost
from plink.formats.structs import encode

SOURCE = "order.json"

ORDER = Order(
    algorithm="ring",
    hosts=[Host("b", "10.0.0.2", "b.lab", "me", 2222, 4), Host("a", "10.0.0.1"), Host("c", "::1")],
    listed=["a", "b", "c"],
    cost=TimeCost(
        objective="latency",
        cost_us=90.5,
        listed_us=100.0,
        random_us=120.0,
        hops_us=[30.5, 20.0, 40.0],
        lower_bound_us=90.0,
        range_us=CostRange(90.25, 95.0),
    ),
    random_orders=1001,
    solver=Solver("lin-kernighan", {"time_limit_s": 2.0}, 7, 1234, "time"),
    seconds=2.001,
    filled_pairs=1,
    unmeasured_hosts=["c"],
    confirmed_gain=-0.25,
    made_from="sha256:12",
    filled_hops=[1],
)
COST = encode(ORDER)["cost"]


def with_cost(**members: object) -> Order:
    return replace(ORDER, cost=replace(ORDER.cost, **members))


@pytest.mark.parametrize("name", ["order.json", "order.json.gz"])
def test_what_is_written_is_read(tmp_path: Path, name: str):
    path = str(tmp_path / name)
    order_file.write_order(path, ORDER)
    assert order_file.read_order(path) == ORDER


def test_optional_members_may_be_absent():
    plain = replace(
        with_cost(range_us=None),
        confirmed_gain=None,
        made_from=None,
        unmeasured_hosts=[],
        filled_pairs=0,
        filled_hops=[],
    )
    assert (
        order_file.decode_order(document.parse(document.dump(encode(plain)), SOURCE), SOURCE)
        == plain
    )


def test_an_order_by_time_is_read(tmp_path: Path):
    cost = replace(
        ORDER.cost,
        objective="contention",
        size_bytes=20_000_000,
        cost_us=81e4,
        listed_us=3e6,
        range_us=CostRange(80e4),
    )
    found = replace(
        ORDER,
        algorithm="openmpi-rabenseifner",
        cost=cost,
        proof=Proof("cp-sat", "gave-up", 3.5),
    )
    path = str(tmp_path / "order.json")
    order_file.write_order(path, found)
    assert order_file.read_order(path) == found


def test_the_gap_is_a_share_of_the_cost():
    measured = replace(with_cost(range_us=None), algorithm="tree", filled_pairs=0)
    assert measured.gap == pytest.approx(0.5 / 90.5)
    assert replace(measured, cost=replace(measured.cost, cost_us=90.0)).gap == 0.0
    nothing = replace(measured.cost, cost_us=0.0, lower_bound_us=0.0)
    assert replace(measured, cost=nothing).gap == 0.0


def test_the_gap_of_a_range_is_that_of_its_upper_end():
    assert ORDER.gap == pytest.approx(5.0 / 95.0)
    assert with_cost(range_us=CostRange(90.25)).gap == 1.0


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"format": "plink.cluster"}, None),
        ({"version": 2}, None),
        ({"version": True}, None),
        ({"version": None}, None),
        ({"hosts": []}, "hosts"),
        ({"hosts": [{"name": "a", "address": "10.0.0.1"}] * 2}, ""),
        ({"hosts": [{"name": n, "address": "10.0.0.1"} for n in "abd"]}, ""),
        ({"hosts": [{"name": "a b", "address": "x"}]}, ""),
        ({"hosts": [{"name": "a", "address": "x", "port": 0}]}, "hosts[0].port"),
        ({"listed": ["a", "b", "b"]}, ""),
        ({"listed": ["a", "b"]}, ""),
        ({"listed": "abc"}, "listed"),
        ({"unmeasured_hosts": ["x"]}, ""),
        ({"filled_hops": [3]}, ""),
        ({"filled_hops": 1}, "filled_hops"),
        ({"filled_pairs": 4}, ""),
        ({"random_orders": 0}, "random_orders"),
        ({"solver": None}, "solver"),
        ({"solver": {"name": "x"}}, "solver"),
        ({"seconds": 1e10}, "seconds"),
        ({"confirmed_gain": 1.5}, "confirmed_gain"),
        ({"algorithm": ""}, "algorithm"),
        ({"algorithm": "two words"}, "algorithm"),
        ({"algorithm": "mesh"}, ""),
        ({"proof": {"engine": "z3", "outcome": "optimal"}}, "proof"),
        ({"colour": "red"}, ""),
        ({"cost": {**COST, "kind": "money"}}, "cost.kind"),
        ({"cost": {**COST, "objective": "speed"}}, "cost.objective"),
        ({"cost": {**COST, "size_bytes": 0}}, "cost.size_bytes"),
        ({"cost": {**COST, "cost_us": -1}}, "cost.cost_us"),
        ({"cost": {**COST, "cost_us": 1e30}}, "cost.cost_us"),
        ({"cost": {**COST, "cost_us": "90"}}, "cost.cost_us"),
        ({"cost": {**COST, "cost_us": True}}, "cost.cost_us"),
        ({"cost": {**COST, "listed_us": 89}}, "cost"),
        ({"cost": {**COST, "cost_us": 91}}, ""),
        ({"cost": {**COST, "hops_us": [90.5]}}, ""),
        ({"cost": {**COST, "hops_us": [30.5, 20.0, "40"]}}, "cost.hops_us[2]"),
        ({"cost": {**COST, "hops_us": [70.5, 60.0, -40.0]}}, "cost.hops_us[2]"),
        ({"cost": {**COST, "lower_bound_us": 91}}, "cost"),
        ({"cost": {**COST, "range_us": {"low_us": 91.0}}}, "cost"),
        ({"cost": {**COST, "range_us": {"low_us": 89.0}}}, "cost"),
        ({"cost": {**COST, "range_us": {"low_us": 90.25, "high_us": 90.0}}}, "cost"),
        ({"cost": {**COST, "range_us": {}}}, "cost.range_us"),
    ],
)
def test_wrong_values_are_refused(change: dict[str, object], place: str | None):
    data = encode(ORDER) | change
    error = refusal(lambda: order_file.decode_order(data, SOURCE))
    assert is_one_sentence(error, SOURCE)
    assert place is None or error.place == place


@pytest.mark.parametrize("name", sorted(encode(ORDER)))
def test_a_missing_member_is_named_or_optional(name: str):
    data = encode(ORDER)
    del data[name]
    error = refusal(lambda: order_file.decode_order(data, SOURCE))
    optional = {"made_from", "confirmed_gain", "unmeasured_hosts", "filled_hops", "filled_pairs"}
    if name in optional | {"groups", "unused"}:
        assert error is None
    else:
        assert is_one_sentence(error, SOURCE)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_is_refused(number: str):
    content = document.dump(encode(ORDER)).replace(b"90.5", number.encode())
    with pytest.raises(WrongUseError):
        order_file.decode_order(document.parse(content, SOURCE), SOURCE)


@given(st.data())
def test_a_truncated_or_damaged_file_is_one_sentence(data):
    content = document.dump(encode(ORDER))
    if data.draw(st.booleans()):
        damaged = content[: data.draw(st.integers(0, len(content) - 3))]
        with pytest.raises(WrongUseError):
            order_file.decode_order(document.parse(damaged, SOURCE), SOURCE)
    else:
        at = data.draw(st.integers(0, len(content) - 1))
        damaged = content[:at] + data.draw(st.binary(max_size=3)) + content[at + 1 :]
        error = refusal(lambda: order_file.decode_order(document.parse(damaged, SOURCE), SOURCE))
        assert is_one_sentence(error, SOURCE)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=5,
    ),
    st.sampled_from(sorted(encode(ORDER))),
)
def test_any_value_in_any_field_is_read_or_refused(value, name):
    content = json.dumps(encode(ORDER) | {name: value}).encode()
    assert is_one_sentence(
        refusal(lambda: order_file.decode_order(document.parse(content, SOURCE), SOURCE)), SOURCE
    )
