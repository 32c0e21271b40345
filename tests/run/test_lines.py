"""Chunks of bytes become lines, however they are cut."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from plink.deploy.run import MAX_LINE, LineSplitter


def split(chunks: list[bytes]) -> list[str]:
    splitter = LineSplitter()
    return [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.end()


@given(st.text("ab\nµ"), st.lists(st.integers(0, 40)))
def test_lines_do_not_depend_on_the_cuts(text: str, cuts: list[int]) -> None:
    content = text.encode()
    edges = [0, *sorted(cuts), len(content)]
    chunks = [content[low:high] for low, high in itertools.pairwise(edges)]
    assert split(chunks) == split([content]) == text.removesuffix("\n").split("\n") * bool(text)


def test_progress_bars_are_lines() -> None:
    assert split([b" 10%\r 20%\r\n", b"done\n"]) == [" 10%", " 20%", "done"]


def test_what_never_ends_comes_in_pieces() -> None:
    found = split([b"x" * MAX_LINE * 2 + b"yz"])
    assert [len(line) for line in found] == [MAX_LINE, MAX_LINE, 2]


def test_what_is_no_text_is_shown_all_the_same() -> None:
    assert split([b"\xff\xfe\n"]) == ["��"]
