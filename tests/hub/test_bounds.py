"""The bandwidth that hides an exchange: the paper's table, and the formulas that it implies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.hub.bounds import Bound, Training, bounds
from plink.hub.networks import NETWORKS, PRINTED_WORKERS

GBIT = 1e9
# Table 2.1: by network, of CC, CS, NCC and NCS.
PRINTED = {
    "resnet269": (122, 31, 140, 17),
    "inception-v3": (44, 11, 50, 6),
    "googlenet": (40, 10, 46, 6),
    "alexnet": (1232, 308, 1408, 176),
}


def by_placement(training: Training) -> dict[str, Bound]:
    return {row.placement: row for row in bounds(training)}


def of_network(name: str, link_bits_s: float = 10 * GBIT, server_bits_s: float = 10 * GBIT):
    known = NETWORKS[name]
    return Training(
        known.model_bytes, known.iteration_s, PRINTED_WORKERS, link_bits_s, 8, server_bits_s
    )


@pytest.mark.parametrize(
    ("name", "gbit_s"),
    [("resnet269", 142.6), ("inception-v3", 51.8), ("googlenet", 48.6), ("alexnet", 1552.0)],
)
def test_the_papers_inputs_give_more_than_it_prints(name: str, gbit_s: float) -> None:
    found = by_placement(of_network(name))["NCC"].server_bits_s / GBIT
    assert found == pytest.approx(gbit_s, abs=0.06)
    assert found > PRINTED[name][2] == NETWORKS[name].printed_ncc_gbit_s


@pytest.mark.parametrize("name", PRINTED)
def test_columns_stand_to_each_other_as_in_the_table(name: str) -> None:
    rows = by_placement(of_network(name))
    cc, cs, _, ncs = PRINTED[name]
    for placement, printed in (("CC", cc), ("CS", cs), ("NCS", ncs)):
        ratio = rows[placement].server_bits_s / rows["NCC"].server_bits_s
        # Its figures are whole numbers, the smallest of one digit.
        assert printed == pytest.approx(ratio * PRINTED[name][2], abs=1.0)


@given(st.integers(2, 512), st.floats(1e3, 1e12), st.floats(1e-3, 1e3), st.floats(1e6, 1e12))
def test_an_exchange_takes_what_links_need(
    workers: int, model_bytes: float, iteration_s: float, link_bits_s: float
) -> None:
    training = Training(model_bytes, iteration_s, workers, link_bits_s, workers, link_bits_s)
    rows = by_placement(training)
    once_s = 8 * model_bytes / link_bits_s
    assert rows["NCS"].exchange_s == pytest.approx(once_s)
    assert rows["NCC"].exchange_s == pytest.approx(workers * once_s)
    assert rows["CC"].exchange_s == pytest.approx((workers - 1) * once_s)
    for placement in ("CS", "all-reduce"):
        assert rows[placement].exchange_s == pytest.approx(2 * (workers - 1) / workers * once_s)
    for row in rows.values():
        assert row.is_hidden == (row.exchange_s <= iteration_s)


def test_ports_help_a_server_until_workers_links_are_full() -> None:
    of_ports = [
        by_placement(of_network("resnet269", GBIT, ports * GBIT))["NCC"].exchange_s
        for ports in (1, 2, 4, 8, 16)
    ]
    assert of_ports == pytest.approx([of_ports[0] / each for each in (1, 2, 4, 8, 8)])


def test_more_servers_share_a_model() -> None:
    known = NETWORKS["resnet269"]
    two = Training(known.model_bytes, known.iteration_s, 8, GBIT, 2, 4 * GBIT)
    assert by_placement(two)["NCS"].server_bits_s == by_placement(two)["NCC"].server_bits_s / 2
