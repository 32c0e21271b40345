"""The comparison file: what goes in comes out, and nothing else gets in."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.results import comparison
from formats.refusals import is_one_sentence, refusal
from plink.base.errors import WrongUseError
from plink.formats import document
from plink.formats.comparison import decode_comparison
from plink.formats.structs import FormatError, encode

DATA: dict[str, Any] = json.loads(document.dump(encode(comparison("n1: died"))))


def test_what_goes_in_comes_out() -> None:
    for found in (comparison(), comparison("n1: died")):
        data = json.loads(document.dump(encode(found)))
        assert (data["format"], data["version"]) == ("plink.comparison", 1)
        assert decode_comparison(data, "file") == found


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"version": None}, {"format": "plink.plan"}, {"colour": "red"}],
)
def test_other_files_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(WrongUseError):
        decode_comparison({**DATA, **change}, "file")


@pytest.mark.parametrize(
    ("way", "value", "place"),
    [
        (("rows",), [], "rows"),
        (("setting", "rounds"), 0, "setting.rounds"),
        (("setting", "clients"), {"gloo": 1}, "setting.clients[...]"),
        (("rows", 2, "median_s"), 0, "rows[2].median_s"),
        (("rows", 2, "hosts"), [], "rows[2].hosts"),
        (("rows", 2, "limit_by"), "luck", "rows[2].limit_by"),
        (("rows", 2, "samples_s"), [-1], "rows[2].samples_s[0]"),
        (("rows", 2, "size_bytes"), 0, "rows[2].size_bytes"),
        (("rows", 2, "collective"), "all-for-one", "rows[2].collective"),
    ],
)
def test_what_cannot_be_is_refused(way: tuple[Any, ...], value: Any, place: str) -> None:
    data: Any = copy.deepcopy(DATA)
    target = data
    for key in way[:-1]:
        target = target[key]
    target[way[-1]] = value
    with pytest.raises(FormatError) as caught:
        decode_comparison(data, "file")
    assert (caught.value.source, caught.value.place) == ("file", place)


@given(st.data())
def test_anything_else_is_one_sentence(data: st.DataObject) -> None:
    damaged = copy.deepcopy(DATA)
    place: Any = data.draw(
        st.sampled_from([damaged, damaged["rows"][0], damaged["rows"][0]["links"]])
    )
    name = data.draw(st.sampled_from(sorted(place)))
    place[name] = data.draw(
        st.none() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers())
    )
    assert is_one_sentence(refusal(lambda: decode_comparison(damaged, "file")), "file")
