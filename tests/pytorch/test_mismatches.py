"""Ranks that do not call the same: an error on every rank, and never bits taken for others."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch

import plink.torch
from plink.torch.layouts import layout_of, type_code
from pytorch import mismatch_checks as checks
from pytorch.processes import results

pytestmark = pytest.mark.timing


def test_all_ranks_get_an_error(tmp_path: Path) -> None:
    assert results(checks.every_mismatch, 3, tmp_path, timeout_s=15) == [[]] * 3


@pytest.mark.parametrize("mode", ["tree", "bitvector"])
def test_threads_that_broadcast_in_other_orders(mode: str, tmp_path: Path) -> None:
    options = plink.torch.Options(control=plink.torch.Control(mode=mode))
    first, second = results(checks.two_threads, 2, tmp_path, pg_options=options)
    assert first == second
    errors, after = first
    assert len(errors) == 2
    assert all("with root 0" in error and "with root 1" in error for error in errors)
    assert after == 6.0


@pytest.mark.parametrize("mode", ["tree", "graph"])
def test_what_differs_is_refused_and_the_group_goes_on(mode: str, tmp_path: Path) -> None:
    options = plink.torch.Options(control=plink.torch.Control(mode=mode))
    first, second = results(checks.unlike_without_names, 2, tmp_path, pg_options=options)
    assert first == second
    said, after = first
    assert all(said), said
    assert after == [2.0, 2.0]


def test_every_type_has_a_code_of_its_own() -> None:
    dtypes = {one for one in vars(torch).values() if isinstance(one, torch.dtype)}
    codes = {type_code(dtype) for dtype in dtypes}
    assert len(codes) == len(dtypes) > 40
    assert all(0 < code < 1 << 16 for code in codes)


def test_layouts_tell_sizes_apart() -> None:
    layouts = [layout_of(sizes) for sizes in itertools.product(range(6), repeat=3)]
    assert len(set(layouts)) == 6**3
    assert layout_of([5]) == layout_of([9]) == 0
