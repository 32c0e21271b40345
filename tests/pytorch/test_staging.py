"""An accelerator's tensors on their way: on a stand-in, and on a GPU where there is one."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import plink.torch
from plink.engine import EngineError
from plink.torch import pieces
from plink.torch.accelerator import SLOTS, AcceleratorStage, Lane
from plink.torch.pieces import pieces_of
from plink.torch.ring import Ring
from plink.torch.staging import HostStage
from pytorch import staging_checks as checks
from pytorch.late_device import Runtime
from pytorch.processes import results

pytestmark = pytest.mark.timing

WAIT_S = 20.0
# Shorter than in earnest.
PIECE_BYTES = 64 << 10
PIECE_ITEMS = PIECE_BYTES // 4
MANY_PIECES = (SLOTS + 3) * PIECE_ITEMS + 5


@pytest.fixture(autouse=True, scope="module")
def shorter_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECE_BYTES", PIECE_BYTES)
        yield


class Doubling:
    """In the engine's place: a piece is doubled where `wait` has returned, and not before."""

    def __init__(self, piece: Tensor) -> None:
        self._piece = piece

    def done(self) -> bool:
        return False

    def wait(self, timeout_s: float | None = None) -> None:
        self._piece.mul_(2)


@contextmanager
def lane(runtime: Runtime, **ignored: set[str]) -> Iterator[Lane]:
    made, homebound = checks.lane_of(runtime, **ignored)
    try:
        yield made
    finally:
        homebound.end()


def doubled(runtime: Runtime, lane: Lane, *tensors: Tensor, is_cut: bool = True) -> list[Tensor]:
    """The caller computes the tensors, has them doubled by way of the host, and uses them."""
    placed = [runtime.place(tensor) for tensor in tensors]
    stage = AcceleratorStage(placed, lane, is_cut)
    # Later work of the caller's is not waited for.
    later = threading.Event()
    runtime.callers.queue(later.set)
    stage.begin(Doubling).wait(WAIT_S)
    assert not later.is_set()
    stage.finish()
    stage.join()
    return [runtime.fetch(one) for one in placed]


@pytest.mark.parametrize("is_cut", [True, False])
@pytest.mark.parametrize("items", [0, 1, PIECE_ITEMS + 1, MANY_PIECES])
def test_a_tensor_goes_to_the_host_and_back(items: int, is_cut: bool) -> None:
    runtime = Runtime()
    tensor = torch.arange(items, dtype=torch.float32)
    with lane(runtime) as way:
        assert torch.equal(doubled(runtime, way, tensor, is_cut=is_cut)[0], tensor * 2)
    assert runtime.unrecorded == []


def test_what_is_not_one_contiguous_tensor_goes_as_one_buffer() -> None:
    runtime = Runtime()
    tensors = [torch.arange(2.0 * PIECE_ITEMS).view(2, -1).t(), torch.full((3,), 5.0)]
    with lane(runtime) as way:
        for found, tensor in zip(doubled(runtime, way, *tensors), tensors, strict=True):
            assert torch.equal(found, tensor * 2)
    assert runtime.unrecorded == []


@pytest.mark.parametrize(
    ("ignored", "of_caller"),
    [
        ({"down": {"wait_event"}}, set()),
        ({"down": {"synchronize"}}, set()),
        ({"up": {"synchronize"}}, set()),
        ({}, {"wait_event"}),
    ],
    ids=["caller's work", "arrival on the host", "free buffer", "arrival at home"],
)
def test_every_wait_that_is_left_out_shows(
    ignored: dict[str, set[str]], of_caller: set[str]
) -> None:
    """The stand-in would tell of a synchronisation that is missing."""
    runtime = Runtime()
    runtime.callers.ignored = of_caller
    tensor = torch.arange(MANY_PIECES, dtype=torch.float32)
    with lane(runtime, **ignored) as way:
        assert not torch.equal(doubled(runtime, way, tensor)[0], tensor * 2)


def test_pieces_are_posted_while_later_ones_are_copied_and_earlier_ones_come_home() -> None:
    runtime, queued, buffers = Runtime(), [], set()

    def post(piece: Tensor) -> Doubling:
        queued.append(len(way.down.queued))
        buffers.add(piece.untyped_storage().data_ptr())
        return Doubling(piece)

    with lane(runtime) as way:
        stage = AcceleratorStage([runtime.place(torch.ones(MANY_PIECES))], way)
        stage.begin(post).wait(WAIT_S)
    count = len(list(pieces_of(MANY_PIECES, 4)))
    assert len(queued) == count
    # The wait for the caller, and two copies.
    assert queued[0] == 3
    assert queued == sorted(queued)
    assert len(buffers) <= SLOTS < count


def test_no_more_is_posted_than_there_are_buffers_until_the_first_comes_home() -> None:
    runtime = Runtime()
    posted, may_end = threading.Semaphore(0), threading.Event()

    class Held(Doubling):
        def wait(self, timeout_s: float | None = None) -> None:
            assert may_end.wait(WAIT_S)
            super().wait(timeout_s)

    def post(piece: Tensor) -> Held:
        posted.release()
        return Held(piece)

    with lane(runtime) as way:
        stage = AcceleratorStage([runtime.place(torch.ones(MANY_PIECES))], way)
        beginning = threading.Thread(target=lambda: stage.begin(post))
        beginning.start()
        for _ in range(SLOTS):
            assert posted.acquire(timeout=WAIT_S)
        assert not posted.acquire(timeout=0.05)
        may_end.set()
        beginning.join(WAIT_S)


def test_buffers_come_back_after_a_failure() -> None:
    runtime = Runtime()
    begun = []

    def post(piece: Tensor) -> Doubling:
        begun.append(piece)
        if len(begun) > 3:
            raise EngineError("rank 2 is lost", 2)
        return Doubling(piece)

    with lane(runtime) as way:
        for _ in range(SLOTS + 1):
            begun.clear()
            work = AcceleratorStage([runtime.place(torch.ones(MANY_PIECES))], way).begin(post)
            with pytest.raises(EngineError, match="rank 2 is lost"):
                work.wait(WAIT_S)
        tensor = torch.arange(MANY_PIECES, dtype=torch.float32)
        assert torch.equal(doubled(runtime, way, tensor)[0], tensor * 2)


def test_a_buffer_is_allocated_once() -> None:
    allocated = []

    def allocate(size_bytes: int) -> Tensor:
        allocated.append(size_bytes)
        return checks.ordinary(size_bytes)

    ring = Ring(2, allocate)
    for size_bytes in (10, 20, 70_000, 10, 70_000, 1 << 20, 1 << 20, 1):
        ring.give_back(ring.take(size_bytes))
    assert allocated == [65_536, 65_536, 131_072, 1 << 20, 1 << 20]


@given(st.integers(0, 1_000_000), st.sampled_from([2, 4, 8]))
def test_pieces_are_all_of_a_buffer_and_none_is_too_long(items: int, item_bytes: int) -> None:
    cut = list(pieces_of(items, item_bytes))
    assert cut[0].start == 0
    assert cut[-1].stop == items
    assert all(one.stop == other.start for one, other in itertools.pairwise(cut))
    lengths = [piece.stop - piece.start for piece in cut]
    assert max(lengths) * item_bytes <= PIECE_BYTES
    assert len(set(lengths[:-1])) <= 1
    assert lengths == [items] or lengths[-1] > 0


def test_a_tensor_on_the_host_is_cut_alike() -> None:
    seen: list[int] = []

    def post(piece: Tensor) -> Doubling:
        seen.append(piece.numel())
        return Doubling(piece)

    tensor = torch.arange(MANY_PIECES, dtype=torch.float32)
    stage = HostStage([tensor], is_cut=True)
    work = stage.begin(post)
    assert work is not None
    work.wait(WAIT_S)
    stage.finish()
    assert torch.equal(tensor, 2 * torch.arange(MANY_PIECES, dtype=torch.float32))
    on_host = list(seen)
    seen.clear()
    runtime = Runtime()
    with lane(runtime) as way:
        AcceleratorStage([runtime.place(tensor)], way).begin(post).wait(WAIT_S)
    assert seen == on_host


def test_collectives_keep_their_order_whatever_way_they_go(tmp_path: Path) -> None:
    assert results(checks.mixed, 2, tmp_path) == [[2.0 * i + 1.0 for i in range(24)]] * 2


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("mode", ["tree", "bitvector"])
def test_collectives_by_name_of_a_side_stream(mode: str, is_cut: bool, tmp_path: Path) -> None:
    options = plink.torch.Options(control=plink.torch.Control(mode=mode))
    found = results(checks.named, 2, tmp_path, is_cut, pg_options=options)
    both = [[3.0], [3.0], *([2.0 * i + 1.0] for i in range(1, 9)), [3.0], [10.0], [30.0], [6.0]]
    assert found == [both, [*both, [21.0]]]


def test_a_lost_rank_ends_what_is_on_its_way(tmp_path: Path) -> None:
    said = results(checks.killed, 2, tmp_path)
    assert "plink: rank 1 (127.0.0.1) " in said[0]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpus_tensor(tmp_path: Path) -> None:
    assert results(checks.on_gpu, 2, tmp_path) == [[6.0] * 4] * 2
