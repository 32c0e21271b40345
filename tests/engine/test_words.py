"""What ranks tell each other beside the collectives."""

from __future__ import annotations

import pytest

from engine.forests import stars
from engine.group import group
from plink.engine import Engine, EngineError


def test_every_rank_hears_what_any_tells_in_its_order() -> None:
    with group(stars(3)) as ranks:
        for engine in ranks.engines:
            for turn in range(3):
                engine.tell(f"{turn} of {engine.rank} {'x' * 20_000}")

        def heard(engine: Engine) -> list[list[int]]:
            of_rank: list[list[int]] = [[], [], []]
            for _ in range(9):
                rank, words = engine.hear(20.0)
                assert words is not None
                assert words.split()[2] == str(rank)
                assert len(words) > 20_000
                of_rank[rank].append(int(words[0]))
            return of_rank

        assert ranks.on_all(heard) == [[[0, 1, 2]] * 3] * 3
        with pytest.raises(TimeoutError, match=r"within 0\.01 s"):
            ranks.engines[0].hear(0.01)


def test_what_a_rank_tells_last_is_heard_before_it_has_left() -> None:
    for _ in range(20):
        with group(stars(3)) as ranks:
            first, second, third = ranks.engines
            third.tell("good bye")
            third.close()
            for engine in (first, second):
                assert engine.hear(20.0) == (2, "good bye")
                assert engine.hear(20.0) == (2, None)


def test_who_listens_learns_that_the_engine_is_closed() -> None:
    with group(stars(2)) as ranks:
        engine = ranks.engines[1]
        engine.close()
        with pytest.raises(EngineError, match="closed"):
            engine.hear(20.0)
