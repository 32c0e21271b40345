"""What ranks have before and after each collective."""

from __future__ import annotations

import numpy as np
import pytest

from plink.bench.clients.buffers import ROOT, Buffers, buffers_of
from plink.bench.workers.torch_collectives import VALUE_PERIOD, parts
from plink.plans.names import COLLECTIVES

RANKS = 5
ELEMENTS = 3 * VALUE_PERIOD + 1
PART = ELEMENTS // RANKS

PATTERN = np.arange(2 * ELEMENTS + VALUE_PERIOD) % VALUE_PERIOD


def filled(elements: int | None, runs: list) -> np.ndarray:
    buffer = np.full(elements or 0, -1)
    for part, values in parts(buffer, [vars(run) for run in runs], PATTERN):
        part[:] = values
    return buffer


def befores(each: list[Buffers]) -> list[np.ndarray]:
    return [filled(one.input_elements, one.before) for one in each]


def afters(each: list[Buffers]) -> list[np.ndarray]:
    return [
        filled(
            one.input_elements if one.output_elements is None else one.output_elements, one.after
        )
        for one in each
    ]


def by_definition(collective: str, have: list[np.ndarray]) -> list[np.ndarray | None]:
    """What each rank gets; None for nothing."""
    nothing = [None] * RANKS
    at_root = lambda result: [result if rank == ROOT else None for rank in range(RANKS)]  # noqa: E731
    cut = [
        np.split(buffer[: PART * RANKS], RANKS) for buffer in have if len(buffer) >= RANKS * PART
    ]
    return {
        "all-reduce": lambda: [sum(have)] * RANKS,
        "reduce-scatter": lambda: [sum(each[rank] for each in cut) for rank in range(RANKS)],
        "all-gather": lambda: [np.concatenate(have)] * RANKS,
        "broadcast": lambda: [have[ROOT]] * RANKS,
        "reduce": lambda: at_root(sum(have)),
        "gather": lambda: at_root(np.concatenate(have)),
        "scatter": lambda: cut[0],
        "all-to-all": lambda: [
            np.concatenate([each[rank] for each in cut]) for rank in range(RANKS)
        ],
        "barrier": lambda: nothing,
        "send-receive": lambda: [have[(rank - 1) % RANKS] for rank in range(RANKS)],
    }[collective]()


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_what_comes_out_is_what_went_in(collective: str) -> None:
    each = [buffers_of(collective, ELEMENTS, rank, RANKS) for rank in range(RANKS)]
    have = befores(each)
    assert all((buffer >= 0).all() for buffer in have)
    expected = by_definition(collective, have)
    for rank, (found, wanted) in enumerate(zip(afters(each), expected, strict=True)):
        if wanted is None:
            assert each[rank].after == []
        else:
            assert found.tolist() == wanted.tolist()


def test_what_does_not_divide_is_not_used() -> None:
    found = buffers_of("all-gather", 11, 1, 3)
    assert (found.input_elements, found.output_elements) == (3, 9)
    with pytest.raises(ValueError, match="no collective 'allgather'"):
        buffers_of("allgather", 11, 1, 3)
