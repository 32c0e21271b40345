"""The order file: what is written is read; what cannot be is refused in one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from files.refusals import is_one_sentence, refusal
from plink.base.errors import WrongUseError
from plink.files import document, order_file
from plink.files.cluster import Host
from plink.files.order import Order, Proof, Solver
from plink.show.terminal.order import unproven

SOURCE = "order.json"

ORDER = Order(
    algorithm="ring",
    hosts=[Host("b", "10.0.0.2", "b.lab", "me", 2222, 4), Host("a", "10.0.0.1"), Host("c", "::1")],
    hops_us=[30.5, 20.0, 40.0],
    given=["a", "b", "c"],
    cost_us=90.5,
    cost_given_us=100.0,
    cost_random_us=120.0,
    random_orders=1001,
    lower_bound_us=90.0,
    solver=Solver("lin-kernighan", {"time_limit_s": 2.0}, 7, 1234, "time"),
    seconds=2.001,
    filled_pairs=1,
    unmeasured_hosts=["c"],
    confirmed_gain=-0.25,
    made_from="sha256:12",
    cost_range_us=(90.25, 95.0),
    filled_hops=[1],
)


@pytest.mark.parametrize("name", ["order.json", "order.json.gz"])
def test_what_is_written_is_read(tmp_path: Path, name: str):
    path = str(tmp_path / name)
    order_file.write(path, ORDER)
    assert order_file.read(path) == ORDER


def test_optional_fields_may_be_absent():
    plain = replace(
        ORDER,
        confirmed_gain=None,
        made_from=None,
        unmeasured_hosts=[],
        filled_pairs=0,
        cost_range_us=None,
        filled_hops=[],
    )
    assert order_file.parse(document.dump(order_file.to_json(plain)), SOURCE) == plain


def test_an_order_by_time_is_read(tmp_path: Path):
    found = replace(
        ORDER,
        algorithm="openmpi-rabenseifner",
        objective="contention",
        size_bytes=20_000_000,
        cost_us=81e4,
        cost_given_us=3e6,
        cost_range_us=(80e4, None),
        proof=Proof("cp-sat", "gave-up", 3.5),
    )
    path = str(tmp_path / "order.json")
    order_file.write(path, found)
    assert order_file.read(path) == found


def test_the_gap_is_a_share_of_the_cost():
    measured = replace(ORDER, filled_pairs=0, cost_range_us=None)
    assert measured.gap == pytest.approx(0.5 / 90.5)
    assert replace(measured, cost_us=90.0).gap == 0.0
    assert replace(measured, cost_us=0.0, lower_bound_us=0.0).gap == 0.0


def test_the_gap_of_a_range_is_that_of_its_upper_end():
    assert ORDER.gap == pytest.approx(5.0 / 95.0)
    assert replace(ORDER, cost_range_us=(90.25, None)).gap == 1.0


def test_an_older_file_has_no_proof_of_distances_that_were_filled_in():
    data = order_file.to_json(replace(ORDER, proof=Proof("cp-sat", "optimal", 1.0)))
    for name in ("cost_low_us", "cost_high_us", "filled_hops"):
        del data[name]
    data |= {"version": 1, "gap": 0.5 / 90.5}
    found = order_file.from_json(data, SOURCE)
    assert (found.lower_bound_us, found.gap, found.most_us) == (0.0, 1.0, None)
    assert found.proof == Proof("cp-sat", "gave-up", 1.0)
    assert unproven(found) == "not proven: 1 pair was not measured"
    assert order_file.from_json(order_file.to_json(found), SOURCE) == found
    # What it proved of measured distances stays proven.
    whole = order_file.from_json(data | {"filled_pairs": 0}, SOURCE)
    assert (whole.lower_bound_us, whole.most_us) == (90.0, 90.5)
    assert whole.proof == Proof("cp-sat", "optimal", 1.0)
    assert unproven(whole) is None


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"format": "plink.cluster"}, "expected a plink.order file"),
        ({"version": 4}, "version 4 of plink.order"),
        ({"cost_low_us": 91.0}, "cost_low_us is above cost_us"),
        ({"cost_high_us": 90.0}, "cost_us is above cost_high_us"),
        ({"cost_low_us": 89.0}, "lower_bound_us is above cost_low_us"),
        ({"cost_low_us": None}, "cost_low_us is None"),
        ({"cost_high_us": None}, "gap is"),
        ({"filled_hops": [3]}, "filled_hops[0] is 3"),
        ({"filled_hops": 1}, "filled_hops is 1"),
        ({"version": True}, "version True of plink.order"),
        ({"version": None}, "version None of plink.order"),
        ({"hosts": []}, "hosts is empty"),
        ({"hosts": [{"name": "a", "address": "10.0.0.1"}] * 2}, "listed twice"),
        ({"hosts": [{"name": n, "address": "10.0.0.1"} for n in "abd"]}, "same hosts"),
        ({"given": ["a", "b", "b"]}, "same hosts"),
        ({"given": ["a", "b"]}, "same hosts"),
        ({"given": "abc"}, "given is 'abc'"),
        ({"unmeasured_hosts": ["x"]}, "names others"),
        ({"cost_us": -1}, "cost_us is -1"),
        ({"cost_us": 1e30}, "cost_us is 1e+30"),
        ({"cost_us": "90"}, "cost_us is '90'"),
        ({"cost_us": True}, "cost_us is True"),
        ({"cost_given_us": 89}, "cost_us is above cost_given_us"),
        ({"cost_us": 91}, "hops_us does not sum up to cost_us"),
        ({"hops_us": [90.5]}, "hops_us"),
        ({"hops_us": [30.5, 20.0, "40"]}, "hops_us"),
        ({"hops_us": [70.5, 60.0, -40.0]}, "hops_us"),
        ({"lower_bound_us": 91}, "lower_bound_us is above cost_us"),
        ({"gap": 0.5}, "gap is 0.5"),
        ({"filled_pairs": 4}, "filled_pairs is 4"),
        ({"random_orders": 0}, "random_orders is 0"),
        ({"solver": None}, "solver is None"),
        ({"solver": {"name": "x"}}, "missing"),
        ({"seconds": 1e10}, "seconds is"),
        ({"confirmed_gain": 1.5}, "confirmed_gain is 1.5"),
        ({"algorithm": ""}, "algorithm is ''"),
        ({"objective": "speed"}, "objective is 'speed'"),
        ({"size_bytes": 0}, "size_bytes is 0"),
        ({"proof": {"engine": "z3", "outcome": "optimal"}}, "seconds"),
        ({"algorithm": "two words"}, "algorithm is 'two words'"),
    ],
)
def test_wrong_values_are_refused(change: dict[str, object], part: str):
    data = order_file.to_json(ORDER) | change
    error = refusal(lambda: order_file.from_json(data, SOURCE))
    assert error is not None
    assert part in str(error)
    assert is_one_sentence(error, SOURCE)


@pytest.mark.parametrize("name", sorted(order_file.to_json(ORDER)))
def test_a_missing_field_is_named_or_optional(name: str):
    data = order_file.to_json(ORDER)
    del data[name]
    error = refusal(lambda: order_file.from_json(data, SOURCE))
    if name in ("made_from", "confirmed_gain", "unmeasured_hosts", "objective", "filled_hops"):
        assert error is None
    else:
        assert error is not None
        assert is_one_sentence(error, SOURCE)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_is_refused(number: str):
    content = document.dump(order_file.to_json(ORDER)).replace(b"90.5", number.encode())
    with pytest.raises(WrongUseError, match=r"NaN|Infinity|cost_us is inf"):
        order_file.parse(content, SOURCE)


@given(st.data())
def test_a_truncated_or_damaged_file_is_one_sentence(data):
    content = document.dump(order_file.to_json(ORDER))
    if data.draw(st.booleans()):
        damaged = content[: data.draw(st.integers(0, len(content) - 3))]
        with pytest.raises(WrongUseError):
            order_file.parse(damaged, SOURCE)
    else:
        at = data.draw(st.integers(0, len(content) - 1))
        damaged = content[:at] + data.draw(st.binary(max_size=3)) + content[at + 1 :]
        error = refusal(lambda: order_file.parse(damaged, SOURCE))
        assert is_one_sentence(error, SOURCE)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=5,
    ),
    st.sampled_from(sorted(order_file.to_json(ORDER))),
)
def test_any_value_in_any_field_is_read_or_refused(value, name):
    content = json.dumps(order_file.to_json(ORDER) | {name: value}).encode()
    assert is_one_sentence(refusal(lambda: order_file.parse(content, SOURCE)), SOURCE)
