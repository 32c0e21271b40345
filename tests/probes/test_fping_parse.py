import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.fping import parse_report

# Recorded from fping 5.1: fping -q -r 0 -C 4 -p 10 10.240.244.6
RECORDED = "\n10.240.244.6 : 0.057 - 0.044 0.11\n"


def test_recorded_output() -> None:
    assert parse_report(RECORDED, "10.240.244.6", 4) == [57.0, None, 44.0, 110.0]


@pytest.mark.parametrize(
    ("output", "count"),
    [
        ("", 1),
        ("10.0.0.9 : 0.05", 1),
        ("fping: can't create raw socket", 1),
        ("10.0.0.1 : 0.05 x", 2),
        ("10.0.0.1 : nan", 1),
        ("10.0.0.1 : -1", 1),
        ("10.0.0.1 : 1e9", 1),
    ],
)
def test_what_is_no_report(output: str, count: int) -> None:
    assert parse_report(output, "10.0.0.1", count) is None


@given(st.integers(0, 6), st.integers(1, 6))
def test_a_report_of_another_length_is_none(found: int, asked: int) -> None:
    samples = parse_report("10.0.0.1 :" + " 0.05" * found, "10.0.0.1", asked)
    assert samples == ([50.0] * asked if found == asked else None)
