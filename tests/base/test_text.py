import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.text import (
    bytes_text,
    format_count,
    format_names,
    join_texts,
    options_text,
    printable,
    probability_text,
    range_text,
    rtt_text,
    share_text,
    time_text,
)


@pytest.mark.parametrize(
    ("rtt_us", "text"),
    [
        (0.0, "0.00 ns"),
        (0.0252, "25.2 ns"),
        (0.9996, "1.00 µs"),
        (1.6, "1.60 µs"),
        (22.123, "22.1 µs"),
        (99.96, "100 µs"),
        (999.4, "999 µs"),
        (999.6, "1.00 ms"),
        (379_960, "380 ms"),
        (60e6, "60.0 s"),
    ],
)
def test_times(rtt_us: float, text: str) -> None:
    assert rtt_text(rtt_us) == text


@pytest.mark.parametrize(
    ("low_us", "high_us", "text"),
    [
        (1200.0, 3400.0, "1.20 to 3.40 ms"),
        (306.0, 1070.0, "306 µs to 1.07 ms"),
        (19.0, 19.0, "19.0 µs"),
        (80.0, None, "80.0 µs or more"),
        (0.0, 9.0, "up to 9.00 µs"),
        (0.0, None, "not known"),
        (0.0, 0.0, "0.00 ns"),
    ],
)
def test_ranges(low_us: float, high_us: float | None, text: str) -> None:
    assert range_text(low_us, high_us) == text


@given(st.floats(0.001, 6e7))
def test_a_time_is_right_to_three_digits(rtt_us: float) -> None:
    number, unit = rtt_text(rtt_us).split()
    scale = {"ns": 1e-3, "µs": 1.0, "ms": 1e3, "s": 1e6}[unit]
    assert float(number) * scale == pytest.approx(rtt_us, rel=0.006)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0.0, "0 B"),
        (999.0, "999 B"),
        (999.6, "1.00 KB"),
        (37.5e6, "37.5 MB"),
        (1.24e9, "1.24 GB"),
        (5e15, "5000 TB"),
    ],
)
def test_bytes(size_bytes: float, text: str) -> None:
    assert bytes_text(size_bytes) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (1e-6, "< 0.01 %"),
        (0.0006, "0.06 %"),
        (0.032, "3.2 %"),
        (0.0996, "10 %"),
        (1.0, "100 %"),
        (2359.0, "2,359 times"),
    ],
)
def test_shares(share: float, text: str) -> None:
    assert share_text(share) == text


def test_counts() -> None:
    assert format_count(1, "host") == "1 host"
    assert format_count(12345, "host") == "12,345 hosts"


def test_many_names_are_cut_short() -> None:
    assert format_names(["a"]) == "a"
    assert format_names(["a", "b"], most=2) == "a, b"
    assert format_names(["a", "b", "c"], most=2) == "a, b and 1 other"
    assert format_names([*"abcdefg"]) == "a, b, c and 4 others"


@given(st.text())
def test_nothing_steers_the_terminal(text: str) -> None:
    assert printable(text).isprintable()
    assert options_text({text: text}).isprintable()
    assert time_text(text).isprintable()


def test_what_is_printable_stays() -> None:
    assert printable("µs – größer [red]") == "µs – größer [red]"
    assert printable("\x1b[2J\n") == "\\x1b[2J\\n"


@pytest.mark.parametrize(
    ("iso", "text"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02 03:04:05 UTC"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02 01:04:05 UTC"),
        ("2026-01-02T03:04:05", "2026-01-02 03:04:05"),
        ("0001-01-01T00:00:00+23:00", "0001-01-01T00:00:00+23:00"),
        ("yesterday", "yesterday"),
    ],
)
def test_moments(iso: str, text: str) -> None:
    assert time_text(iso) == text


@pytest.mark.parametrize(
    ("texts", "text"),
    [(["ring"], "ring"), (["flat", "ring"], "flat or ring"), (["a", "b", "c"], "a, b or c")],
)
def test_choices(texts: list[str], text: str) -> None:
    assert join_texts(texts, "or") == text


def test_a_probability_is_never_shown_as_certain() -> None:
    shown = {0.0: "0.0 %", 0.973: "97.3 %", 0.9989: "99.9 %", 0.9996: "> 99.9 %", 1.0: "> 99.9 %"}
    assert {value: probability_text(value) for value in shown} == shown
