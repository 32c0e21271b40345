"""A plan file that somebody has tampered with: it is refused in one sentence, or the engine takes
its forest."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.refusals import is_one_sentence, refusal
from formats.test_plan import LITERAL
from plink.engine.forest import native
from plink.formats import document
from plink.formats import plan as plan_file
from plink.formats.plan import Plan
from plink.formats.structs import encode
from plink.plans.names import COLLECTIVES

NUMBERS = st.integers(-2, 5) | st.integers() | st.floats()
JUNK = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
HOSTILE_BYTES = st.binary(min_size=1, max_size=8) | st.sampled_from(
    [
        b"{",
        b"[",
        b'"',
        b"1e999",
        b"NaN",
        b"-0",
        b"\\ud800",
        b"9" * 5000,
        b"[" * 3000,
        b"\0",
        b"\xff",
    ]
)


def is_taken_or_refused(content: bytes) -> bool:
    """One of the two; what is taken is something that the engine takes."""
    taken: list[Plan] = []
    error = refusal(
        lambda: taken.append(plan_file.decode_plan(document.parse(content, "p.json"), "p.json"))
    )
    for plan in taken:
        native(plan.forest)
        encode(plan)
    return bool(taken) or is_one_sentence(error, "p.json")


@pytest.mark.parametrize("digits", [1, 60, 5000])
def test_a_text_of_any_length_is_refused_in_words(digits: int) -> None:
    changed = LITERAL.replace("all-reduce", "9" * digits + "all-reduce", 1)
    error = refusal(
        lambda: plan_file.decode_plan(document.parse(changed.encode(), "p.json"), "p.json")
    )
    assert error is not None
    assert is_one_sentence(error, "p.json")
    assert "regex" not in str(error)
    assert all(collective in str(error) for collective in COLLECTIVES)


@given(st.data())
def test_any_changes_of_values_are_taken_or_refused(data: st.DataObject) -> None:
    plan: Any = copy.deepcopy(json.loads(LITERAL))
    for _ in range(data.draw(st.integers(1, 4))):
        place: Any = plan
        while True:
            key = data.draw(
                st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place)))
            )
            inner = place[key]
            if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans()):
                break
            place = inner
        if data.draw(st.booleans()) or isinstance(place, dict):
            place[key] = data.draw(JUNK)
        else:
            place.insert(key, copy.deepcopy(place[data.draw(st.integers(0, len(place) - 1))]))
    assert is_taken_or_refused(json.dumps(plan).encode())


@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 40), HOSTILE_BYTES), max_size=4))
def test_any_changes_of_bytes_are_taken_or_refused(changes: list[tuple[int, int, bytes]]) -> None:
    content = LITERAL.encode()
    for place, size, new in changes:
        begin = place % len(content)
        content = content[:begin] + new + content[begin + size :]
    assert is_taken_or_refused(content)


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b\x08junk", b"\xef\xbb\xbf{}", b"[" * 10**6])
def test_what_is_no_plan_at_all_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    error = refusal(lambda: plan_file.read_plan(str(path)))
    assert error is not None
    assert is_one_sentence(error, str(path))
