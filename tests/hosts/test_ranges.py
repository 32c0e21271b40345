"""Bracket expansion against literals, a brute-force twin and hostile text."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.hosts.hostlist import RangeError, expand, split_outside_brackets


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("gpu", ["gpu"]),
        ("gpu[1-3]", ["gpu1", "gpu2", "gpu3"]),
        ("gpu[08-11]", ["gpu08", "gpu09", "gpu10", "gpu11"]),
        ("gpu[01-03,20]", ["gpu01", "gpu02", "gpu03", "gpu20"]),
        ("gpu[8-11]", ["gpu8", "gpu9", "gpu10", "gpu11"]),
        ("gpu[01-100]x", [f"gpu{n:02d}x" for n in range(1, 101)]),
        ("r[1-2]n[3-4]", ["r1n3", "r1n4", "r2n3", "r2n4"]),
        ("[0-1][0-1]", ["00", "01", "10", "11"]),
        ("c[1-2]-ib", ["c1-ib", "c2-ib"]),
        ("a[5-5]", ["a5"]),
        ("a[000-001]", ["a000", "a001"]),
    ],
)
def test_expands(pattern: str, names: list[str]) -> None:
    assert expand(pattern) == names


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a[9-1]", "the range 9-1 runs backwards"),
        ("a[1-]", "'1-' in a bracket is neither a number nor a range"),
        ("a[-1]", "'-1' in a bracket is neither a number nor a range"),
        ("a[]", "'' in a bracket is neither a number nor a range"),
        ("a[1,]", "'' in a bracket is neither a number nor a range"),
        ("a[1-2-3]", "'1-2-3' in a bracket is neither a number nor a range"),
        ("a[x-z]", "'x-z' in a bracket is neither a number nor a range"),
        ("a[٣]", "'٣' in a bracket is neither a number nor a range"),
        ("a[1-016]", "the ends of the range 1-016 are padded with zeros differently"),
        ("a[001-02]", "the ends of the range 001-02 are padded with zeros differently"),
        ("a[0-65536]", "the range 0-65536 expands to more than 65,536 names"),
        ("a[0-999][0-999]", "the brackets expand to more than 65,536 names"),
        ("a[0-60000,0-60000]", "the brackets expand to more than 65,536 names"),
        ("a[[1]]", "brackets are nested"),
        ("a[1", "a bracket is not closed"),
        ("a]1[", "a bracket is closed that was not opened"),
        ("x" * 254, "a name is longer than 253 characters"),
        ("[0-65535]" + "[1]" * 300, "a name is longer than 253 characters"),
    ],
)
def test_refuses(pattern: str, reason: str) -> None:
    with pytest.raises(RangeError) as caught:
        expand(pattern)
    assert str(caught.value) == reason


def test_absurd_ranges_are_refused_at_once() -> None:
    started = time.monotonic()
    for pattern in ["a[0-" + "9" * 18 + "]", "a" + "[0-9]" * 200, "a[" + "9" * 100_000 + "]"]:
        with pytest.raises(RangeError):
            expand(pattern)
    assert time.monotonic() - started < 20.0


def test_commas_separate_only_outside_brackets() -> None:
    assert split_outside_brackets("a[0-5,7],b3,c[1-2]-ib") == ["a[0-5,7]", "b3", "c[1-2]-ib"]
    assert split_outside_brackets("") == [""]
    assert split_outside_brackets("a,") == ["a", ""]


numbers = st.integers(min_value=0, max_value=3000)
ranges = st.tuples(numbers, st.integers(0, 12), st.integers(1, 5)).map(
    lambda drawn: (drawn[0], drawn[0] + drawn[1], drawn[2])
)
brackets = st.lists(ranges, min_size=1, max_size=3)
literals = st.text("abcxyz-._", max_size=5)


@given(st.lists(st.tuples(literals, brackets), max_size=3), literals)
def test_equals_formatting_every_number(
    parts: list[tuple[str, list[tuple[int, int, int]]]], tail: str
) -> None:
    pattern = ""
    choices: list[list[str]] = []
    for literal, drawn in parts:
        texts, values = [], []
        for low, high, width in drawn:
            text = f"{low:0{width}d}"
            # A higher end as wide as the lower one, or wider without padding.
            texts.append(f"{text}-{high:0{len(text)}d}")
            values += [f"{n:0{len(text)}d}" for n in range(low, high + 1)]
        pattern += f"{literal}[{','.join(texts)}]"
        choices += [[literal], values]
    choices.append([tail])
    expected = ["".join(names) for names in itertools.product(*choices)]
    assert expand(pattern + tail) == expected


@given(st.text("a1[]-,0", max_size=30))
def test_any_text_expands_or_is_refused(text: str) -> None:
    try:
        names = expand(text)
    except RangeError:
        return
    assert names
    assert all("[" not in name and "]" not in name for name in names)
