"""Rates as people write them, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import WrongUseError
from labkit.rates import (
    MAX_RATE_BITS,
    MIN_BURST_BYTES,
    MIN_RATE_BITS,
    burst_bytes,
    format_rate,
    parse_rate,
)


@pytest.mark.parametrize(
    ("text", "rate_bits"),
    [
        ("400mbit", 400_000_000),
        ("1gbit", 1_000_000_000),
        ("1.5Gbit", 1_500_000_000),
        (" 64kbit ", 64_000),
        ("8000bit", 8_000),
        ("none", None),
    ],
)
def test_reads_usual_forms(text: str, rate_bits: int | None) -> None:
    assert parse_rate(text) == rate_bits


@pytest.mark.parametrize(
    "text",
    [
        *("", "400", "400mbps", "mbit", "-4mbit", "0mbit", "nan", "infbit", "1e9bit", "4 mbit"),
        *("7999bit", "1001gbit", "999999999999gbit", "٤mbit", "4mbit\n4mbit"),
    ],
)
def test_refuses_what_is_no_rate(text: str) -> None:
    with pytest.raises(WrongUseError):
        parse_rate(text)


@given(st.integers(MIN_RATE_BITS, MAX_RATE_BITS))
def test_writes_what_it_reads(rate_bits: int) -> None:
    assert parse_rate(format_rate(rate_bits)) == rate_bits


@given(st.text(max_size=20))
def test_any_text_is_a_rate_or_refused(text: str) -> None:
    try:
        rate_bits = parse_rate(text)
    except WrongUseError:
        return
    assert rate_bits is None or MIN_RATE_BITS <= rate_bits <= MAX_RATE_BITS


@given(st.integers(MIN_RATE_BITS, MAX_RATE_BITS))
def test_bursts_hold_several_gso_packets(rate_bits: int) -> None:
    assert burst_bytes(rate_bits) >= MIN_BURST_BYTES >= 4 * 65_536
