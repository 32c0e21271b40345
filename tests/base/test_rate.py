"""Rates of links as people write them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.base.size import parse_rate


@pytest.mark.parametrize(
    ("text", "bits_s"),
    [
        ("10gbit", 10e9),
        ("400mbit", 400e6),
        ("1.6 Gbit/s", 1.6e9),
        (" 64KBIT ", 64e3),
        ("1tbit", 1e12),
    ],
)
def test_rates_have_a_unit(text: str, bits_s: float) -> None:
    assert parse_rate(text) == pytest.approx(bits_s)


@pytest.mark.parametrize(
    "text", ["", "10", "gbit", "-1gbit", "0gbit", "1e3gbit", "10GB", "9999tbit", "١gbit", "nan"]
)
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(WrongUseError, match="is not a rate"):
        parse_rate(text)


@given(st.text(max_size=20))
def test_any_text_is_a_rate_or_refused(text: str) -> None:
    with contextlib.suppress(WrongUseError):
        assert parse_rate(text) > 0.0
