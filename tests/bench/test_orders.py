from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.bench.orders import NamedOrder, Sources, as_permutation, names_in, resolve_orders
from plink.deploy.remote.hosts import assign_slots
from plink.solvers.slots.layout import RankLayout

NAMES = ["a", "b", "c", "d"]


def resolve(
    text: str, *, seed: int = 1, listed: Sequence[str] = ("d", "c", "b", "a")
) -> list[NamedOrder]:
    sources = Sources(
        names=NAMES,
        layout=RankLayout([1] * 4, 4),
        seed=seed,
        solve=lambda: [1, 0, 2, 3],
        spread=lambda count: [[2, 3, 0, 1], [3, 2, 0, 1]][:count],
        read_order=lambda _: listed,
        read_names=lambda _: listed,
    )
    return resolve_orders(text, sources)


def test_every_kind_of_order() -> None:
    found = resolve("given, plink,random:2,dir/best.json,file:/x/truth.txt,spread:2")
    assert [entry.label for entry in found] == [
        *["given", "plink", "random-1", "random-2", "best", "truth", "spread-1", "spread-2"]
    ]
    assert found[0].order == (0, 1, 2, 3)
    assert found[1].order == (1, 0, 2, 3)
    assert found[4].order == found[5].order == (3, 2, 1, 0)
    assert [entry.order for entry in found[6:]] == [(2, 3, 0, 1), (3, 2, 0, 1)]


@given(st.integers(0, 2**63 - 1), st.integers(1, 20))
def test_random_orders_are_permutations_that_the_seed_decides(seed: int, count: int) -> None:
    found = resolve(f"random:{count}", seed=seed)
    assert [entry.label for entry in found] == [f"random-{i + 1}" for i in range(count)]
    assert all(sorted(entry.order) == [0, 1, 2, 3] for entry in found)
    assert found == resolve(f"random:{count}", seed=seed)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "'' is not an order"),
        ("given,,plink", "'' is not an order"),
        ("best", "'best' is not an order"),
        ("random:0", "1 to 1000 random orders"),
        ("random:99999", "1 to 1000 random orders"),
        ("random:5000000", "1 to 1000 random orders"),
        ("random:" + "9" * 5000, "1 to 1000 random orders"),
        ("random:2,random:3", "random orders are asked for twice"),
        ("spread:0", "1 to 1000 spread orders"),
        ("spread:2,spread:1", "spread-1 is asked for twice"),
        ("random:-1", "is not an order"),
        ("given,given", "given is asked for twice"),
        ("x/best.json,y/best.json", "best is asked for twice"),
    ],
)
def test_wrong_words(text: str, complaint: str) -> None:
    with pytest.raises(WrongUseError, match=complaint):
        resolve(text)


@pytest.mark.parametrize(
    ("listed", "complaint"),
    [
        (["a", "b", "c"], "l.txt: d of the cluster file is not listed"),
        (["a"], "l.txt: b and 2 more of the cluster file is not listed"),
        (["a", "b", "c", "d", "a"], "l.txt: a is listed twice"),
        (["a", "b", "c", "e"], "l.txt: e is not a host of the cluster file"),
    ],
)
def test_a_list_must_be_an_order_of_the_hosts(listed: list[str], complaint: str) -> None:
    with pytest.raises(WrongUseError, match=complaint):
        as_permutation(listed, NAMES, "l.txt")


@given(st.permutations(NAMES))
def test_a_list_becomes_the_order_that_lists_it(listed: list[str]) -> None:
    order = as_permutation(listed, NAMES, "l.txt")
    assert [NAMES[index] for index in order] == listed


def test_names_in_a_list_may_have_slots_and_comments() -> None:
    assert names_in("# racks\n a slots=2\n\nb#c\nc\r\n") == ["a", "b", "c"]


def sources_of(layout: RankLayout, listed: Sequence[str]) -> Sources:
    return Sources(
        names=NAMES,
        layout=layout,
        seed=1,
        solve=lambda: [3, 3, 1],
        spread=lambda _: [],
        read_order=lambda _: listed,
        read_names=lambda _: listed,
    )


def test_ranks_fill_the_hosts_that_they_need() -> None:
    sources = sources_of(RankLayout([2] * 4, 3), ["d", "b"])
    found = resolve_orders("given,plink,random:20,file:l.txt", sources)
    by_label = {entry.label: entry.order for entry in found}
    assert by_label["given"] == (0, 0, 1)
    assert by_label["plink"] == by_label["l"] == (3, 3, 1)
    randoms = [order for label, order in by_label.items() if label.startswith("random")]
    assert {order[0] for order in randoms} == {0, 1, 2, 3}
    assert all(order[0] == order[1] != order[2] for order in randoms)


def test_a_list_may_name_the_host_of_every_rank() -> None:
    sources = sources_of(RankLayout([2] * 4, 4), ["d", "b", "d", "b"])
    assert resolve_orders("apart.json", sources)[0].order == (3, 1, 3, 1)
    crowded = sources_of(RankLayout([2] * 4, 4), ["d", "b", "d", "d"])
    with pytest.raises(WrongUseError, match="d has 3 ranks, more than slots"):
        resolve_orders("apart.json", crowded)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("file:l.txt", "l.txt: lists 3 hosts, expected 2"), ("spread:2", "with one rank each")],
)
def test_what_slots_do_not_go_with(text: str, complaint: str) -> None:
    with pytest.raises(WrongUseError, match=complaint):
        resolve_orders(text, sources_of(RankLayout([2] * 4, 3), ["a", "b", "c"]))


def test_an_order_of_some_hosts_needs_ranks() -> None:
    with pytest.raises(WrongUseError, match=r"l.txt: lists 3 hosts of 4") as refused:
        resolve_orders("file:l.txt", sources_of(RankLayout([1] * 4, 4), ["a", "b", "c"]))
    assert refused.value.hint == "ranks=3 compares orders of so many"


def test_ranks_of_a_host_have_seats_of_their_own() -> None:
    assert assign_slots((2, 2, 0, 1, 0), 2) == (4, 5, 0, 2, 1)
