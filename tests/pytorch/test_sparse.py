"""Training that sends some of its gradients, on real ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plink.engine import Options
from plink.training.sparse.corrections import CORRECTIONS
from pytorch import sparse_checks as checks
from pytorch.processes import results, running

Found = list[dict[str, Any]]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """By rank, what each check says."""
    return results(checks.everything, 2, tmp_path_factory.mktemp("ranks"))


def of_both(found: Found, name: str) -> Any:
    first, second = (one[name] for one in found)
    assert first == second
    return first


def test_without_sparsity_it_is_pytorchs_dense_training_to_the_bit(found: Found) -> None:
    said = of_both(found, "dense")
    assert len(said) == 9
    for name, (is_same, off) in said.items():
        # Its sum of mean and velocity is rounded once, where ours is rounded twice.
        assert off < 1e-6 if "nesterov" in name else is_same, name


def test_weights_are_equal_on_all_ranks_at_every_step(found: Found) -> None:
    for correction, (is_equal, sent, learns) in of_both(found, "equal").items():
        assert is_equal, correction
        assert learns, correction
        # 70 % of 30 chunks are held back after the warm-up.
        assert sent == [30, 9]


def test_steps_are_those_of_plain_loops(tmp_path: Path) -> None:
    for said in results(checks.like_loops, 3, tmp_path, pg_options=Options(deterministic=True)):
        assert list(said) == list(CORRECTIONS)
        for is_same, off in said.values():
            assert is_same
            assert off < 1e-4


def test_bytes_are_those_foretold(found: Found) -> None:
    measured, foretold = of_both(found, "bytes_sent")
    assert measured == pytest.approx(foretold, rel=0.02)


def test_it_goes_on_from_a_checkpoint_to_the_bit(found: Found) -> None:
    said = of_both(found, "resumed")
    assert len(said) == 4
    assert all(said.values()), said


def test_another_number_of_ranks_keeps_what_is_held_back(found: Found) -> None:
    for off, is_equal in of_both(found, "merged").values():
        assert off < 1e-6
        assert is_equal


def test_an_infinite_gradient_of_one_rank_is_skipped_by_all(found: Found) -> None:
    assert of_both(found, "scaled") == {
        "scales": [2048.0, 2048.0, 1024.0, 1024.0],
        "kept": True,
        "skipped": 1,
        "is as without a scale": True,
    }


def test_passes_add_up_and_what_is_held_back_is_added_once(found: Found) -> None:
    off, is_refused = of_both(found, "accumulated")
    assert off < 1e-6
    assert is_refused


def test_pytorch_clips_by_a_norm_that_all_ranks_share(found: Found) -> None:
    assert of_both(found, "clipped") == (True, True, True)


def test_what_is_held_back_is_clipped_like_what_is_sent(found: Found) -> None:
    said = of_both(found, "clipped_alike")
    assert len(said) == 6
    assert all(said.values()), said
    text, is_kept = of_both(found, "clipped_by_value")
    assert "otherwise than by one factor" in text
    assert is_kept


def test_weights_may_be_loaded_after_the_optimizer_is_made(found: Found) -> None:
    said = of_both(found, "loaded")
    assert len(said) == 6
    assert all(said.values()), said


def test_options_that_come_to_differ_are_refused_on_all_ranks(found: Found) -> None:
    said = of_both(found, "options_change")
    assert len(said) == 6
    for name, (text, is_kept) in said.items():
        assert f"ranks differ in {name.split()[0]}" in text
        assert is_kept


def test_weights_of_16_bits(found: Found) -> None:
    for is_equal, learns in of_both(found, "halves").values():
        assert is_equal
        assert learns


def test_parameters_without_a_gradient(found: Found) -> None:
    assert of_both(found, "unused") == (True, True)


def test_wrong_uses_are_refused_in_a_sentence(found: Found) -> None:
    texts = (
        "sparsity is 1.0",
        "correction is 'none'",
        "chunk is 0",
        "Adam cannot step with some of its gradients",
        "DistributedDataParallel sends all",
        "momentum cannot be 0.0",
        "torch.float64 cannot be trained",
        "rank 1 has sparsity=0.2, and rank 0 sparsity=0.1",
        "rank 1 has lr=0.2, and rank 0 lr=0.1",
        "rank 1 has weight_decay=0.1, and rank 0 weight_decay=0.0",
        "rank 1 has scale=8.0, and rank 0 scale=1.0",
        "scaled otherwise",
        "of 2, and this is rank",
        "of all ranks are merged",
        "parameters of another type",
        "parameters of another type",
    )
    for one in found:
        for text, said in zip(texts, one["refused"], strict=True):
            assert text in said


def test_a_rank_that_is_lost_leaves_all_as_it_was(tmp_path: Path) -> None:
    with running(checks.lost, 2, tmp_path) as ranks:
        assert ranks[1].hear() == "here"
        said, is_kept = ranks[0].hear()
    assert "rank 1" in said
    assert is_kept
