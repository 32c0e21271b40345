"""In which order groups are sent, and what becomes of failures, with a group that only notes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributed import DistBackendError

from plink.base.errors import WrongUseError
from plink.torch.overlap.arrangement import Arrangement, Fixed
from plink.torch.overlap.pool import Pool, pool_order, pools_of
from plink.torch.overlap.posting import Posting
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule


class Group:
    """Of ranks that all have this one's gradients. Nothing is reduced before it is waited for."""

    def __init__(self, ranks: int, fails_at: int = -1) -> None:
        self.ranks, self.fails_at = ranks, fails_at
        self.sent: list[Tensor] = []

    def size(self) -> int:
        return self.ranks

    def allreduce(self, tensors: list[Tensor], _: Any) -> Any:
        self.sent += tensors
        return Work(self, len(self.sent) - 1)


class Work:
    def __init__(self, group: Group, number: int) -> None:
        self.group, self.number = group, number

    def wait(self) -> None:
        if self.number == self.group.fails_at:
            raise RuntimeError("plink: rank 1 (10.0.0.1) is gone")
        self.group.sent[self.number] *= self.group.ranks


class Noting(Fixed):
    """Notes what it hears, and changes the arrangement after a pass if told to."""

    def __init__(self, cuts: tuple[int, ...]) -> None:
        super().__init__(lambda _: Schedule(cuts))
        self.heard: list[Any] = []
        self.later: Arrangement | None = None

    def gradient_ready(self, name: str) -> None:
        self.heard.append(name)

    def group_posted(self, group: int, works: Any) -> None:
        self.heard.append(group)

    def pass_ended(self) -> Arrangement | None:
        self.heard.append("end")
        return self.later


class Sums(nn.Module):
    """Gradients of its parameters come in the order in which they are told."""

    def __init__(self, parameters: int) -> None:
        super().__init__()
        self.own = nn.ParameterList(torch.ones(i + 1) for i in range(parameters))

    def forward(self, order: list[int]) -> Tensor:
        sum_ = torch.zeros(())
        # What is added last is the first of the backward pass.
        for i in reversed(order):
            sum_ = torch.sin(sum_) + (self.own[i] * (i + 1)).sum()
        return sum_


def posting_of(
    net: nn.Module, group: Any, cuts: tuple[int, ...], finds_unused: bool = False
) -> tuple[Posting, Pool, Noting]:
    parameters = pool_order(net.named_parameters())
    pools, noting = pools_of(parameters), Noting(cuts)
    profile = Profile(
        tuple(name for name, _ in parameters),
        tuple(one.nbytes for _, one in parameters),
        (0.0,) * len(parameters),
    )
    return Posting(pools, profile, noting, group, finds_unused=finds_unused), pools[0], noting


def slices(pool: Pool, group: Group) -> list[tuple[int, int]]:
    """Which elements were sent, in the order of sending."""
    begin = pool.flat.data_ptr()
    found = [((one.data_ptr() - begin) // 4, one.numel()) for one in group.sent]
    group.sent.clear()
    return found


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_groups_are_sent_in_one_order_whatever_comes_first(order: tuple[int, ...]) -> None:
    net, group = Sums(4), Group(2)
    _, pool, noting = posting_of(net, group, (1, 3, 4))
    net(list(order)).backward()
    assert slices(pool, group) == [(0, 4), (4, 5), (9, 1)]
    names = [f"own.{i}" for i in order]
    assert [one for one in noting.heard if isinstance(one, str)] == [*names, "end"]
    # As soon as can be: all before are sent, and the last of its own has come.
    for number, members in enumerate((["own.3"], ["own.2", "own.1"], ["own.0"])):
        before = noting.heard[: noting.heard.index(number)]
        assert {*members, *range(number)} <= set(before)
        assert before[-1] in members or before[-1] == number - 1


def test_gradients_hold_the_mean_and_grow_by_it() -> None:
    net, alone = Sums(3), Sums(3)
    posting_of(net, Group(3), (2, 3))
    for _ in range(3):
        # All ranks have the same, which then is the mean.
        for one in (net, alone):
            one([0, 1, 2]).backward()
        for found, wanted in zip(net.own, alone.own, strict=True):
            assert torch.allclose(found.grad, wanted.grad)


def test_cuts_change_between_passes() -> None:
    net, group = Sums(3), Group(2)
    posting, pool, noting = posting_of(net, group, (3,))
    noting.later = Arrangement(("own.0", "own.2", "own.1"), (1, 3))
    net([2, 1, 0]).backward()
    kept = [one.grad.clone() for one in net.own]
    group.sent.clear()
    assert posting.arrangement == noting.later
    assert pool.names == noting.later.names
    assert all(torch.equal(one.grad, before) for one, before in zip(net.own, kept, strict=True))
    for one in net.own:
        one.grad = None
    net([2, 1, 0]).backward()
    assert slices(pool, group) == [(0, 1), (1, 5)]
    assert all(torch.equal(one.grad, before) for one, before in zip(net.own, kept, strict=True))


def test_what_did_not_come_is_sent_as_zeros() -> None:
    for finds_unused in (False, True):
        net, group = Sums(3), Group(2)
        _, pool, noting = posting_of(net, group, (1, 2, 3), finds_unused)
        pool.with_tail.fill_(9.0)
        net([0, 2]).backward()
        tail_items = 3 if finds_unused else 0
        assert slices(pool, group) == [(0, 3), (3, 2), (5, 1 + tail_items)]
        assert pool.flat[3:5].tolist() == [0.0, 0.0]
        assert (net.own[1].grad is None) == finds_unused
        assert noting.heard == ["own.0", "own.2", 0, 1, 2, "end"]


def test_a_failure_leaves_no_gradient_and_no_further_pass() -> None:
    net = Sums(3)
    posting, _, noting = posting_of(net, Group(2, fails_at=1), (1, 2, 3))
    with pytest.raises(DistBackendError, match="is gone"):
        net([2, 1, 0]).backward()
    assert [one.grad for one in net.own] == [None] * 3
    assert "end" not in noting.heard
    with pytest.raises(WrongUseError, match="ended by an error"):
        posting.check()


def test_a_pass_that_fails_midway_allows_no_further_one() -> None:
    net = Sums(3)
    posting, _, _ = posting_of(net, Group(2), (1, 2, 3))
    posting.check()

    def fail(_: Tensor) -> None:
        raise ValueError("bang")

    handle = net.own[1].register_hook(fail)
    with pytest.raises(ValueError, match="bang"):
        net([2, 1, 0]).backward()
    handle.remove()
    with pytest.raises(WrongUseError, match="ended by an error"):
        posting.check()
    assert [one.grad for one in net.own] == [None] * 3


def test_after_the_end_gradients_are_left_alone() -> None:
    net, group = Sums(2), Group(2)
    posting, pool, _ = posting_of(net, group, (1, 2))
    posting.close()
    net([0, 1]).backward()
    assert slices(pool, group) == []
    assert net.own[0].grad is not None
