"""Pools of gradients, and how they are cut, without ranks."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import Parameter

from plink.base.errors import WrongUseError
from plink.torch.overlap.arrangement import Arrangement
from plink.torch.overlap.groups import arrange_groups
from plink.torch.overlap.pool import Pool, pool_order, pools_of

TYPES = (torch.float32, torch.float64, torch.bfloat16)


def made(*shapes: tuple[int, ...]) -> list[tuple[str, Parameter]]:
    return [(f"p{i}", Parameter(torch.ones(shape))) for i, shape in enumerate(shapes)]


def test_gradients_lie_one_after_the_other_with_the_tail_behind() -> None:
    pool = Pool(made((2, 3), (), (4,)))
    assert [pool.bounds(i) for i in range(len(pool))] == [(0, 6), (6, 7), (7, 11)]
    pool.with_tail.copy_(torch.arange(14.0))
    assert pool.view(0).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert pool.view(1).item() == 6
    assert pool.slice(1, 3).tolist() == [6, 7, 8, 9, 10]
    assert pool.tail.tolist() == [11, 12, 13]
    assert pool.flat.tolist() == list(range(11))


def test_a_gradient_elsewhere_is_copied_and_pointed_back() -> None:
    parameters = made((2,), (2,))
    pool = Pool(parameters)
    first, second = (one for _, one in parameters)
    first.grad = torch.tensor([1.0, 2.0])
    assert pool.absorb(0, torch.tensor(0.5))
    assert first.grad is pool.view(0)
    assert not pool.absorb(0, torch.tensor(4.0))
    assert pool.flat.tolist() == [2.0, 4.0, 0.0, 0.0]
    pool.flat.fill_(7.0)
    first.grad = None
    second.grad = torch.tensor([3.0, 4.0])
    pool.attach()
    assert first.grad is pool.view(0)
    assert pool.flat.tolist() == [0.0, 0.0, 3.0, 4.0]


def test_a_sparse_gradient_becomes_dense() -> None:
    parameters = made((2,), (3,))
    pool = Pool(parameters)
    parameters[0][1].grad = torch.tensor([0.0, 3.0]).to_sparse()
    assert pool.absorb(0, torch.tensor(2.0))
    assert pool.flat.tolist() == [0.0, 6.0, 0.0, 0.0, 0.0]
    assert parameters[0][1].grad is pool.view(0)
    parameters[1][1].grad = torch.tensor([1.0, 0.0, 2.0]).to_sparse()
    pool.attach()
    assert pool.flat.tolist() == [0.0, 6.0, 1.0, 0.0, 2.0]


def test_views_have_the_strides_that_autograd_gives() -> None:
    net = nn.Conv2d(3, 5, 3).to(memory_format=torch.channels_last)
    net(torch.randn(1, 3, 8, 8)).sum().backward()
    [pool] = pools_of(pool_order(net.named_parameters()))
    for i in range(len(pool)):
        gradient = pool.parameter(i).grad
        assert gradient is not None
        assert pool.view(i).stride() == gradient.stride()
        before = gradient.clone()
        pool.absorb(i)
        assert torch.equal(pool.view(i), before)


def test_pools_are_of_one_type_and_of_what_is_trained() -> None:
    parameters = made((1,), (2,), (3,))
    parameters[0][1].requires_grad_(False)
    parameters.append(("p3", Parameter(torch.ones(2).double())))
    assert [pool.names for pool in pools_of(parameters)] == [("p1", "p2"), ("p3",)]
    with pytest.raises(WrongUseError):
        Pool(parameters)
    with pytest.raises(WrongUseError):
        pools_of(parameters[:1])
    with pytest.raises(WrongUseError):
        Pool([parameters[1], parameters[1]])


@given(st.permutations(range(5)), st.sets(st.integers(0, 4)))
def test_another_order_keeps_what_is_attached(order: list[int], attached: set[int]) -> None:
    parameters = made((2,), (3, 2), (), (1,), (4,))
    pool = Pool(parameters)
    foreign = torch.zeros(2)
    for i in range(5):
        if i in attached:
            parameters[i][1].grad = torch.full_like(parameters[i][1], i + 1.0)
            pool.absorb(i)
    if 0 not in attached:
        parameters[0][1].grad = foreign
    pool.reorder([f"p{i}" for i in order])
    assert pool.names == tuple(f"p{i}" for i in order)
    for place, i in enumerate(order):
        gradient = parameters[i][1].grad
        if i in attached:
            assert gradient is pool.view(place)
            assert bool((gradient == i + 1.0).all())
        else:
            assert gradient is (foreign if i == 0 else None)
    assert pool.version == (order != list(range(5)))
    with pytest.raises(WrongUseError):
        pool.reorder(["p0"])


@given(st.data(), st.lists(st.sampled_from(TYPES), min_size=1, max_size=9), st.booleans())
def test_groups_have_every_element_once_in_order(
    data: st.DataObject, types: list[torch.dtype], with_tails: bool
) -> None:
    parameters = [
        (f"p{i}", Parameter(torch.zeros(i + 1, dtype=dtype))) for i, dtype in enumerate(types)
    ]
    pools = pools_of(parameters)
    names = tuple(data.draw(st.permutations([name for name, _ in parameters])))
    cuts = sorted({*data.draw(st.sets(st.integers(1, len(names)))), len(names)})
    groups = arrange_groups(pools, Arrangement(names, tuple(cuts)), with_tails)
    assert [len(group.names) for group in groups] == [
        cut - before for before, cut in zip([0, *cuts], cuts, strict=False)
    ]
    assert tuple(name for group in groups for name in group.names) == names
    for pool in pools:
        bounds = [
            (part.begin, part.end) for group in groups for part in group.parts if part.pool is pool
        ]
        whole = pool.with_tail if with_tails else pool.flat
        assert [begin for begin, _ in bounds] == [0, *(end for _, end in bounds[:-1])]
        assert bounds[-1][1] == whole.numel()
        for group in groups:
            for part in group.parts:
                own = [name for name in group.names if name in part.pool.names]
                items = sum(dict(parameters)[name].numel() for name in own)
                is_last = part.end > part.pool.flat.numel()
                assert part.end - part.begin == items + (len(part.pool) if is_last else 0)


@pytest.mark.parametrize("cuts", [(), (1,), (2, 2), (3,), (0, 2)])
def test_cuts_that_cannot_be_are_refused(cuts: tuple[int, ...]) -> None:
    with pytest.raises(WrongUseError):
        arrange_groups([Pool(made((1,), (1,)))], Arrangement(("p0", "p1"), cuts), False)
