"""Words: names that every file, launcher and command can hold."""

from __future__ import annotations

import pytest

from plink.formats.limits import MAX_NAME_LENGTH, is_word


@pytest.mark.parametrize("word", ["gpu00", "é", "主机", "a" * MAX_NAME_LENGTH])
def test_words(word: str) -> None:
    assert is_word(word)


@pytest.mark.parametrize(
    "text", ["", "a b", "a\n", "\x00", "\u200b", "a\udcff", "\ud800", "a" * (MAX_NAME_LENGTH + 1)]
)
def test_no_words(text: str) -> None:
    assert not is_word(text)
