"""What a bench of orders tells: figures, correlations, JSON, table and plot."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from bench.results import ORDERS, order_bench
from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.bench.bench import BenchOutcome
from plink.bench.order_report import Correlations, OrdersBench
from plink.bench.plot import plot
from plink.formats.structs import encode
from plink.show.terminal.comparison import print_comparison


def report(found: BenchOutcome) -> OrdersBench:
    assert found.orders is not None
    return found.orders


def as_json(found: BenchOutcome) -> dict[str, Any]:
    return encode(report(found))


def printed(found: BenchOutcome) -> str:
    output = io.StringIO()
    print_comparison(Console(width=80, file=output), found.result, found.orders)
    return output.getvalue()


WHOLE = [[3.0, 3.2, 2.9], [1.0, 1.1, 0.9], [4.0, 4.0, 4.0], [2.0, 2.0, 2.0]]


def test_rows_compare_medians_with_given_and_with_the_median_of_random() -> None:
    found = order_bench(WHOLE)
    row, order = found.result.rows[1], report(found).rows[1]
    assert row.order == "plink"
    assert (row.median_s, row.min_s, row.max_s) == (1.0, 0.9, 1.1)
    assert (order.speedup_over_given, order.speedup_over_random) == (3.0, 3.0)
    assert row.hosts == ["b", "a", "c", "d"]
    # A ring of 4 sends 2 x 3/4 of 20 MB from every host: 240 Mbit in 1 s.
    assert row.bus_mbit == pytest.approx(240.0)


def test_correlation_is_of_predicted_and_measured() -> None:
    # Ranks of the prediction: 3, 1, 4, 2; of the medians: 3, 1, 4, 2.
    found = report(order_bench(WHOLE)).spearman
    assert found.latency is not None
    assert found.latency.value == pytest.approx(1.0)
    # Times within 1 % are alike: ranks 1.5, 1.5, 4, 3 against 3, 1, 4, 2.
    assert found.contention is not None
    assert found.contention.value == pytest.approx(0.6325, abs=1e-4)
    data = as_json(order_bench(WHOLE))["spearman"]
    assert data["latency"]["value"] == pytest.approx(1.0)
    assert data["contention"]["low"] <= data["contention"]["value"] <= data["contention"]["high"]


def test_orders_without_samples_have_no_row_and_no_say() -> None:
    found = order_bench([[3.0], [1.0], [], []])
    assert [row.order for row in found.result.rows] == ["given", "plink"]
    assert report(found).rows[1].speedup_over_random is None
    assert report(found).spearman == Correlations(None, None)


def test_orders_are_compared_over_the_same_rounds_and_all_samples_are_kept() -> None:
    # The second round broke off after two of the four orders.
    samples_s = [[*WHOLE[0], 9.0, 9.0, 9.0], [*WHOLE[1], 8.0, 8.0, 8.0], *WHOLE[2:]]
    found, whole = order_bench(samples_s, 1, PlinkError("n1: died")), order_bench(WHOLE)
    rows = found.result.rows
    assert [row.median_s for row in rows] == [row.median_s for row in whole.result.rows]
    assert report(found).rows[1].speedup_over_given == 3.0
    assert [len(row.samples_s) for row in rows] == [6, 6, 3, 3]
    data = as_json(found)
    assert (data["rounds"], data["rounds_done"], data["stopped"]) == (3, 1, "n1: died")
    assert as_json(order_bench(WHOLE, 3))["stopped"] is None


@pytest.mark.parametrize(
    ("rounds_done", "said"),
    [
        (0, "in the first of 3 rounds: what ran of it is compared"),
        (2, "after 2 of 3 rounds: only whole rounds are compared"),
    ],
)
def test_table_says_that_the_bench_stopped_early(rounds_done: int, said: str) -> None:
    samples_s = [[1.0] * 9, [2.0] * 6, [], []]
    text = printed(order_bench(samples_s, rounds_done, PlinkError("interrupted")))
    assert f"Stopped early, {said}" in text
    repetitions = 3 * max(1, rounds_done)
    assert f"{repetitions} repetitions each in {max(1, rounds_done)} round" in text


def test_json_says_under_what_conditions_it_was_measured() -> None:
    data = json.loads(json.dumps(as_json(order_bench(WHOLE)), allow_nan=False))
    assert [row["order"] for row in data["rows"]] == [label for label, *_ in ORDERS]
    assert data["rows"][1]["median_s"] == 1.0
    assert data["rows"][1]["predicted_us"] == 100.0
    assert data["client"] == "gloo"
    assert data["versions"] == {"torch": "2.13.0"}
    assert data["settings"] == {"GLOO_SOCKET_IFNAME": "eth0"}
    assert data["congestion_control"]["a"] == "bbr"
    assert (data["algorithm"], data["size_bytes"], data["rounds"]) == ("ring", 20_000_000, 3)
    assert (data["repetitions"], data["seed"]) == (3, 7)
    assert data["filled_pairs"] == 2


def test_json_has_the_members_that_readers_know_and_no_others() -> None:
    data = as_json(order_bench(WHOLE))
    assert " ".join(data) == (
        "client versions settings algorithm size_bytes warmups repetitions rounds rounds_done "
        "stopped seed congestion_control made_from time_of_a_repetition filled_pairs "
        "unmeasured_hosts spearman rows"
    )
    assert " ".join(data["rows"][0]) == (
        "order hosts median_s min_s max_s bus_mbit speedup_over_given speedup_over_random "
        "predicted_us predicted_s samples_s"
    )


def unpredicted(found: BenchOutcome, label: str = "given") -> BenchOutcome:
    """The same without any prediction under contention, and with other labels."""
    orders = report(found)
    rows = [replace(row, order=label, predicted_s=None) for row in orders.rows]
    return replace(found, orders=replace(orders, rows=rows))


def test_table_shows_a_dash_where_nothing_is_predicted() -> None:
    found = unpredicted(order_bench(WHOLE))
    rows = [
        replace(row, speedup_over_given=None, speedup_over_random=None, predicted_us=None)
        for row in report(found).rows
    ]
    orders = replace(report(found), rows=rows, spearman=Correlations(None, None))
    text = printed(replace(found, orders=orders))
    line = next(line for line in text.splitlines() if line.startswith("given"))
    assert line.split()[-1] == "-"
    assert "by latency not defined" in text
    assert "  contention" not in text.splitlines()[2]


def test_table_fits_80_columns_and_shows_every_order() -> None:
    lines = [line.rstrip() for line in printed(order_bench(WHOLE)).splitlines()]
    assert max(map(len, lines)) <= 80
    plink = next(line for line in lines if line.startswith("plink"))
    assert " ".join(plink.split()) == "plink 1.00 s 900 ms 1.10 s 3.00x 3.00x 100 µs 2.00 s"
    correlation = next(line for line in lines if line.startswith("  by latency"))
    assert correlation.startswith("  by latency 1.00 (")


def test_plot_has_a_panel_for_each_form_that_is_predicted() -> None:
    found = order_bench(WHOLE)
    whole = plot(found.result, found.orders)
    assert "latency form, Spearman 1.00" in whole
    assert "contention form, Spearman 0.63" in whole
    assert whole.count("<circle") == 8
    one = unpredicted(found, "<a&b>")
    drawn = plot(one.result, one.orders)
    assert "contention form" not in drawn
    assert "&lt;a&amp;b&gt;" in drawn
