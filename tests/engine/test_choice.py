"""Ranks settle on a forest while they meet: rank 0 chooses by what each tells of itself."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.forests import chains, stars
from engine.group import QUICK
from plink.base.errors import PlinkError, WrongUseError
from plink.base.replacing import replace
from plink.engine import C10dStore, DirectoryStore, Engine, EngineError, Prepared
from plink.engine.forest import prepare_forest

RANKS = 3


class ByRank:
    """Chains where every rank told its number, else an error of rank 0's."""

    def __init__(self, rank: int, says: object) -> None:
        self.rank, self.says = rank, says
        self.heard: Any = None

    def told(self) -> object:
        return self.says

    def decided(self, told: Sequence[Any]) -> dict[str, object]:
        if list(told) != list(range(RANKS)):
            raise WrongUseError(f"{told[-1]} is not where rank {RANKS - 1} runs")
        return {"routes": 2, "told": list(told)}

    def forest(self, decided: Any) -> Prepared:
        if not isinstance(decided, dict):
            raise EngineError("rank 0 decided something else", 0)
        self.heard = decided
        return prepare_forest(chains(RANKS), RANKS)


def met(store: DirectoryStore, choices: Sequence[ByRank]) -> list[str]:
    """What comes of it on each rank."""

    def outcome(choice: ByRank) -> str:
        try:
            with Engine(choice.rank, RANKS, store, choice, replace(QUICK, port=0)) as engine:
                array = np.ones(1)
                engine.allreduce(array).wait(20)
                return f"{array[0]:g}"
        except PlinkError as error:
            return str(error)

    with ThreadPoolExecutor(RANKS) as threads:
        return list(threads.map(outcome, choices))


def test_all_follow_what_rank_0_has_decided(tmp_path: Path) -> None:
    choices = [ByRank(rank, rank) for rank in range(RANKS)]
    assert met(DirectoryStore(tmp_path), choices) == ["3"] * RANKS
    assert [choice.heard for choice in choices] == [{"routes": 2, "told": [0, 1, 2]}] * RANKS


def test_all_say_why_rank_0_cannot_decide(tmp_path: Path) -> None:
    choices = [ByRank(0, 0), ByRank(1, 1), ByRank(2, "n07")]
    assert met(DirectoryStore(tmp_path), choices) == ["n07 is not where rank 2 runs"] * RANKS


def test_a_forest_for_others_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongUseError, match="the plan is for 4 ranks, there are 3"):
        Engine(0, RANKS, DirectoryStore(tmp_path), stars(4), QUICK)


class CountingStore:
    """As PyTorch's store, and counts the questions that it answers over the network."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.asked = 0

    def set(self, key: str, value: bytes) -> None:
        self.values[key] = value

    def wait(self, keys: list[str], _timeout: timedelta) -> None:
        self.asked += 1
        if any(key not in self.values for key in keys):
            raise RuntimeError("nobody set it")

    def multi_get(self, keys: list[str]) -> list[bytes]:
        self.asked += 1
        return [self.values[key] for key in keys]

    def has_extended_api(self) -> bool:
        return True


def test_a_value_is_read_in_two_round_trips() -> None:
    """PyTorch's `get` waits for the key, too: together with our `wait` that were three."""
    counting = CountingStore()
    store = C10dStore(counting)
    store.set("table", b"all")
    assert store.get("table", 5.0) == b"all"
    assert counting.asked == 2
