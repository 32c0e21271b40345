"""The cost model: its arithmetic, and that the paper's table does not follow from it."""

from __future__ import annotations

import pytest

from plink.base.replacing import replace
from plink.hub.cost import Deployment, Prices, contradiction, costs, network_cost, workers_of_a_hub


@pytest.mark.parametrize(("factor", "workers"), [(1.0, 44), (2.0, 65), (3.0, 76)])
def test_a_switch_serves_as_many_workers_as_the_paper_says(factor: float, workers: int) -> None:
    assert workers_of_a_hub(Deployment(), factor) == workers


def test_network_is_the_papers_formula() -> None:
    assert network_cost(100.0, 10.0, 1.0, 1.0) == 100 + 10 + 1 + 4 * 10 + 2 * 1
    assert network_cost(100.0, 10.0, 1.0, 2.0) == 100 + 10 + 1 + (4 * 10 + 2 * 1) / 2


def test_rows_add_up() -> None:
    prices = Prices(1000, 100, 50, 40, 2, 20, 10, 1, 600, 30)
    baseline, hub = costs(prices, Deployment(2, 16, 2, 0.5), (1.0,))
    assert baseline.total == 1000 + 2 * 100 + (50 + 40 + 2 + 4 * 40 + 2 * 2)
    of_port = 30 + 10 + 1 + 4 * 10 + 2
    assert hub.workers == 6
    assert hub.hub == (600 + 2 * of_port) / 6
    assert hub.total == 1000 + 2 * 100 + (20 + 10 + 1 + 4 * 10 + 2) + hub.hub
    assert hub.per_dollar == pytest.approx(0.5 * baseline.total / hub.total)


def test_dearer_computing_leaves_less_to_gain() -> None:
    cheap, dear = (
        costs(replace(Prices(), gpu=gpu), Deployment())[2].per_dollar for gpu in (699.0, 9000.0)
    )
    assert cheap > dear


def test_a_hub_that_fills_the_switch_is_refused() -> None:
    with pytest.raises(ValueError, match="has none for workers beside a hub of 20 at 1:1"):
        costs(Prices(), Deployment(switch_ports=40))


def test_the_papers_table_implies_another_ratio_than_any_reading_gives() -> None:
    found = contradiction()
    assert found.readings == 8
    assert found.implied == pytest.approx(1.205, abs=0.001)
    assert 1.27 < found.least < found.most < 1.345
    assert found.implied < found.least
