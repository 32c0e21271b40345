import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from plink.base.errors import PlinkError
from plink.bench.clients.base import ClientFacts, Workload
from plink.bench.orders import NamedOrder
from plink.bench.plot import plot
from plink.bench.result import BenchResult, Prediction, Setting, make_result, to_json
from plink.bench.run import Outcome
from plink.bench.table import render

NAMES = ["a", "b", "c", "d"]
ORDERS = [
    NamedOrder("given", (0, 1, 2, 3)),
    NamedOrder("plink", (1, 0, 2, 3)),
    NamedOrder("random-1", (3, 1, 2, 0)),
    NamedOrder("random-2", (2, 1, 3, 0)),
]
PREDICTED_US = [200.0, 100.0, 210.0, 190.0]
PREDICTED_S = [2.0, 2.001, 4.0, 3.0]


def result(
    samples_s: list[list[float]], rounds_done: int = 1, stopped: PlinkError | None = None
) -> BenchResult:
    setting = Setting(
        client="gloo",
        facts=ClientFacts({"torch": "2.13.0"}, {"GLOO_SOCKET_IFNAME": "eth0"}),
        workload=Workload("ring", 20_000_000, 1, 3),
        rounds=3,
        seed=7,
        congestion_control=dict.fromkeys(NAMES, "bbr"),
        made_from="sha256:0",
    )
    outcome = Outcome(samples_s, rounds_done, stopped)
    prediction = Prediction(PREDICTED_US, PREDICTED_S, filled_pairs=2)
    return make_result(setting, NAMES, ORDERS, outcome, prediction)


def printed(found: BenchResult) -> str:
    output = io.StringIO()
    Console(width=80, file=output).print(render(found))
    return output.getvalue()


WHOLE = [[3.0, 3.2, 2.9], [1.0, 1.1, 0.9], [4.0, 4.0, 4.0], [2.0, 2.0, 2.0]]


def test_rows_compare_medians_with_given_and_with_the_median_of_random() -> None:
    rows = {row.order: row for row in result(WHOLE).rows}
    assert rows["plink"].median_s == 1.0
    assert (rows["plink"].min_s, rows["plink"].max_s) == (0.9, 1.1)
    assert rows["plink"].speedup_over_given == 3.0
    assert rows["plink"].speedup_over_random == 3.0
    assert rows["plink"].hosts == ["b", "a", "c", "d"]
    # A ring of 4 sends 2 x 3/4 of 20 MB from every host: 240 Mbit in 1 s.
    assert rows["plink"].bus_mbit == pytest.approx(240.0)


def test_correlation_is_of_predicted_and_measured() -> None:
    # Ranks of the prediction: 3, 1, 4, 2; of the medians: 3, 1, 4, 2.
    found = result(WHOLE)
    assert found.by_latency is not None
    assert found.by_latency.value == pytest.approx(1.0)
    # Times within 1 % are alike: ranks 1.5, 1.5, 4, 3 against 3, 1, 4, 2.
    assert found.by_contention is not None
    assert found.by_contention.value == pytest.approx(0.6325, abs=1e-4)
    data = to_json(found)["spearman"]
    assert data["latency"]["value"] == pytest.approx(1.0)
    assert data["contention"]["low"] <= data["contention"]["value"] <= data["contention"]["high"]


def test_orders_without_samples_have_no_row_and_no_say() -> None:
    found = result([[3.0], [1.0], [], []])
    assert [row.order for row in found.rows] == ["given", "plink"]
    assert found.rows[1].speedup_over_random is None
    assert (found.by_latency, found.by_contention) == (None, None)


def test_orders_are_compared_over_the_same_rounds_and_all_samples_are_kept() -> None:
    # The second round broke off after two of the four orders.
    samples_s = [[*WHOLE[0], 9.0, 9.0, 9.0], [*WHOLE[1], 8.0, 8.0, 8.0], *WHOLE[2:]]
    found = result(samples_s, 1, PlinkError("n1: died"))
    assert [row.median_s for row in found.rows] == [row.median_s for row in result(WHOLE).rows]
    assert found.rows[1].speedup_over_given == 3.0
    assert [len(row.samples_s) for row in found.rows] == [6, 6, 3, 3]
    data = to_json(found)
    assert (data["rounds"], data["rounds_done"], data["stopped"]) == (3, 1, "n1: died")
    assert to_json(result(WHOLE, 3))["stopped"] is None


@pytest.mark.parametrize(
    ("rounds_done", "said"),
    [(0, "compared is what ran of the first"), (2, "compared are the 2 whole rounds")],
)
def test_table_says_that_the_bench_stopped_early(rounds_done: int, said: str) -> None:
    text = printed(result([[1.0] * 9, [2.0] * 6, [], []], rounds_done, PlinkError("interrupted")))
    assert f"Stopped early, 3 rounds were asked for: {said}" in text
    repetitions = 3 * max(1, rounds_done)
    assert f"{repetitions} repetitions an order in {max(1, rounds_done)} round" in text


def test_json_says_under_what_conditions_it_was_measured() -> None:
    data = json.loads(json.dumps(to_json(result(WHOLE)), allow_nan=False))
    assert [row["order"] for row in data["rows"]] == [entry.label for entry in ORDERS]
    assert data["rows"][1]["median_s"] == 1.0
    assert data["rows"][1]["predicted_us"] == 100.0
    assert data["versions"] == {"torch": "2.13.0"}
    assert data["settings"] == {"GLOO_SOCKET_IFNAME": "eth0"}
    assert data["congestion_control"]["a"] == "bbr"
    assert (data["algorithm"], data["size_bytes"], data["rounds"]) == ("ring", 20_000_000, 3)
    assert (data["repetitions"], data["seed"]) == (3, 7)


def test_table_shows_a_dash_where_nothing_is_predicted() -> None:
    known = result(WHOLE)
    rows = [replace(row, predicted_us=None, predicted_s=None) for row in known.rows]
    text = printed(replace(known, rows=rows, by_latency=None, by_contention=None))
    line = next(line for line in text.splitlines() if line.startswith("given"))
    assert line.split()[-1] == "-"
    assert "by latency not defined" in text
    assert "  contention" not in text.splitlines()[2]


def test_table_fits_80_columns_and_shows_every_order() -> None:
    lines = [line.rstrip() for line in printed(result(WHOLE)).splitlines()]
    assert max(map(len, lines)) <= 80
    plink = next(line for line in lines if line.startswith("plink"))
    assert " ".join(plink.split()) == "plink 1.00 s 900 ms 1.10 s 3.00x 3.00x 100 µs 2.00 s"
    correlation = next(line for line in lines if line.startswith("  by latency"))
    assert correlation.startswith("  by latency 1.00 (")


def test_plot_has_a_panel_for_each_form_that_is_predicted() -> None:
    found = result(WHOLE)
    whole = plot(found)
    assert "latency form, Spearman 1.00" in whole
    assert "contention form, Spearman 0.63" in whole
    assert whole.count("<circle") == 8
    rows = [replace(row, order="<a&b>", predicted_s=None) for row in found.rows]
    one = plot(replace(found, rows=rows))
    assert "contention form" not in one
    assert "&lt;a&amp;b&gt;" in one
