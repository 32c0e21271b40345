"""What ranks read of each other in the store: nothing but addresses and a table passes."""

from __future__ import annotations

import contextlib
import copy
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.forests import stars
from engine.group import QUICK
from plink.base.replacing import replace
from plink.engine import DirectoryStore, Engine, EngineError
from plink.engine.table import Entry, Table, pack_entry, pack_table, parse_entry, parse_table

TABLE = Table("6a" * 16, 2, [[("127.0.0.1", 5)], [("::1", 6), ("10.0.0.7", 7)]], [], 60.0)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


def test_what_was_put_in_comes_out() -> None:
    assert parse_table(pack_table(TABLE), 2) == TABLE
    entry = Entry(list(TABLE.endpoints[1]), {"name": "n01"})
    assert parse_entry(pack_entry(entry), 1) == entry


@given(st.data())
@settings(max_examples=40)
def test_any_change_of_a_table_is_refused_or_a_table(data: st.DataObject) -> None:
    said: Any = json.loads(pack_table(TABLE))
    place, key = said, data.draw(st.sampled_from(sorted(said)))
    while isinstance(place[key], list) and place[key] and data.draw(st.booleans()):
        place, key = place[key], data.draw(st.integers(0, len(place[key]) - 1))
    place[key] = data.draw(JUNK)
    before = copy.deepcopy(said)
    with contextlib.suppress(EngineError):
        table = parse_table(json.dumps(said).encode(), 2)
        assert len(bytes.fromhex(table.job)) == 16
        assert 1 <= table.workers <= 64
        assert len(table.endpoints) == 2 or table.missing or table.refusal
        assert all(of_rank for of_rank in table.endpoints)
        assert said == before


@given(st.binary(max_size=60) | JUNK.map(lambda junk: json.dumps(junk).encode()))
@settings(max_examples=40)
def test_no_other_bytes_are_addresses_or_a_table(content: bytes) -> None:
    with pytest.raises(EngineError, match="rank 0 put no table of 2 ranks into the store"):
        parse_table(content, 2)
    with contextlib.suppress(EngineError):
        assert parse_entry(content, 1).endpoints


@pytest.mark.parametrize(
    "content",
    [
        b"\xff",
        b"[" * 100_000,
        b"[]",
        b'[[["::1", 1]]]',
        b'[[["host", 1]], null]',
        b'[[["::1", 0]], null]',
        b'[[["::1", true]], null]',
    ],
)
def test_what_is_no_address_is_refused(content: bytes) -> None:
    with pytest.raises(EngineError, match="rank 7 put no addresses into the store") as refused:
        parse_entry(content, 7)
    assert refused.value.rank == 7


def test_every_rank_names_the_one_that_put_something_else_there(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.set("plink/0/1", b"what an earlier job left")

    def outcome(rank: int) -> str:
        with pytest.raises(EngineError) as failed:
            Engine(rank, 3, store, stars(3), replace(QUICK, port=0))
        assert failed.value.rank == 1
        return str(failed.value)

    with ThreadPoolExecutor(2) as threads:
        said = list(threads.map(outcome, (0, 2)))
    assert said[0] == "rank 1 put no addresses into the store"
    assert said[1] == said[0]
