import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from plink.base.replacing import replace
from plink.formats.hosts import Host
from plink.formats.order import Order, TimeCost
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.show.orders import rank_labels
from plink.show.scale import SHADES
from plink.show.terminal.order import print_ranks
from plink.show.terminal.paper import Paper
from show.racks import racks

TEMPLATE = find_order(racks(1, 3).cluster, OrderRequest(seed=1, time_limit_s=0.1))


def order(hops_us: list[float], name: str = "gpu{:02d}") -> Order:
    hosts = [Host(name.format(i), "x") for i in range(len(hops_us))]
    return replace(
        TEMPLATE,
        hosts=hosts,
        listed=[host.name for host in hosts],
        cost=TimeCost("latency", sum(hops_us), sum(hops_us), sum(hops_us), hops_us),
    )


def printed(found: Order, width: int = 80, shades: str | None = SHADES) -> list[str]:
    stream = io.StringIO()
    system = "truecolor" if shades is None else None
    console = Console(file=stream, width=width, color_system=system, force_terminal=not shades)
    print_ranks(Paper(console, shades), found)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_a_bar_is_as_long_as_its_hop() -> None:
    assert printed(order([50.0, 25.0, 0.0, 0.1])) == [
        "",
        "rank host  to next",
        "   0 gpu00 50.0 µs ████████████████",
        "   1 gpu01 25.0 µs ████████",
        "   2 gpu02 0.00 ns",
        "   3 gpu03  100 ns █",
        "   → gpu00",
    ]


@pytest.mark.parametrize("count", [1, 2, 24, 25, 64, 200])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_every_host_stands_once_and_the_page_fits(count: int, width: int) -> None:
    found = printed(order([22.1] * count), width)
    assert max(map(cell_len, found)) <= width
    words = " ".join(found).split()
    assert [words.count(f"gpu{i:02d}") for i in range(count)] == [2] + [1] * (count - 1)
    assert sum("→ gpu00" in line for line in found) == 1
    assert len(found) <= 3 + max(24, -(-count * 42 // width) + 24)


def test_many_hosts_read_from_top_to_bottom() -> None:
    found = printed(order([22.1] * 48), 100)
    assert len(found) == 27
    assert found[2].split()[:2] == ["0", "gpu00"]
    assert found[3].split()[:2] == ["1", "gpu01"]
    assert "  24 gpu24" in found[2]


def test_long_hops_have_another_colour() -> None:
    found = printed(order([22.0, 22.0, 50.0]), shades=None)
    bright = [line.count("\x1b[38;2;253;231;37m") for line in found[2:]]
    assert bright == [1, 1, 0, 0]


def test_long_names_and_markup_do_no_harm() -> None:
    found = printed(order([1.0, 2.0], name="[red]" + "x" * 60 + "{}"), 60)
    assert max(map(cell_len, found)) <= 60
    assert "[red]xxx" in found[2]


def test_hosts_with_slots_take_ranks_in_a_row() -> None:
    hosts = [Host("a", "a"), Host("b", "b", slots=8), Host("c", "c", slots=2)]
    cost = TimeCost("latency", 3.0, 3.0, 3.0, [1.0] * 3)
    found = replace(TEMPLATE, hosts=hosts, listed=["a", "b", "c"], cost=cost)
    assert rank_labels(found) == ["0", "1-8", "9-10"]


def test_ranks_of_a_host_may_be_apart() -> None:
    hosts = [Host("a", "a", slots=4), Host("b", "b", slots=2)]
    cost = TimeCost("latency", 2.0, 2.0, 2.0, [1.0] * 2)
    apart = replace(
        TEMPLATE, hosts=hosts, listed=["a", "b"], cost=cost, host_of_rank=[0, 0, 1, 0, 1, 0]
    )
    assert rank_labels(apart) == ["0-1,3,5", "2,4"]
