"""The comparison file: what goes in comes out, and nothing else gets in."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.results import comparison
from files.refusals import is_one_sentence, refusal
from plink.base.errors import WrongUseError
from plink.files import document
from plink.files.comparison import from_json, to_json

DATA: dict[str, Any] = json.loads(document.dump(to_json(comparison("n1: died"))))


def test_what_goes_in_comes_out() -> None:
    for found in (comparison(), comparison("n1: died")):
        data = json.loads(document.dump(to_json(found)))
        assert (data["format"], data["version"]) == ("plink.comparison", 1)
        assert from_json(data, "file") == found


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"version": 2}, "file: version 2 of plink.comparison is not known here"),
        ({"version": None}, "file: version None of plink.comparison is not known here"),
        ({"format": "plink.plan"}, "file: expected a plink.comparison file"),
        ({"rows": []}, "file: has no rows"),
        ({"rounds": 0}, "file: rounds is 0, expected a whole number from 1"),
        ({"clients": {"gloo": 1}}, "file: clients: gloo is 1, expected an object"),
    ],
)
def test_other_files_are_refused(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        from_json({**DATA, **change}, "file")
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize(
    ("member", "value", "complaint"),
    [
        ("median_s", 0, "median_s is 0, expected a time above 0"),
        ("hosts", [], "hosts is [], expected the host of each rank"),
        ("limit_by", "luck", "limit_by is 'luck', expected hosts or uplinks"),
        ("samples_s", [-1], "samples_s[0] is -1, expected a number from 0"),
        ("size_bytes", 0, "size_bytes is 0, expected a whole number from 1"),
    ],
)
def test_rows_that_cannot_be_are_refused(member: str, value: Any, complaint: str) -> None:
    data = copy.deepcopy(DATA)
    data["rows"][2][member] = value
    with pytest.raises(WrongUseError) as caught:
        from_json(data, "file")
    assert str(caught.value).startswith(f"file: rows[2]: {complaint}")


@settings(max_examples=60)
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
    assert is_one_sentence(refusal(lambda: from_json(damaged, "file")), "file")
