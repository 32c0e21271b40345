import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.base.size import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("1024", 1024),
        ("20MB", 20_000_000),
        ("4KiB", 4096),
        ("20M", 20_000_000),
        ("4k", 4000),
        ("2Gi", 1 << 31),
        ("1.5 MiB", 1_572_864),
        ("0.3GB", 300_000_000),
        ("7b", 7),
        ("20mb", 20_000_000),
    ],
)
def test_sizes_as_people_write_them(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MB",
        "0",
        "-4",
        "20X",
        "1e6",
        "nan",
        "0.5",
        "1.0001KB",
        "20 MB/s",
        "٢MB",
        "9" * 99,
        "20Mb",
        "1Gib",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(WrongUseError, match=r"is not a (whole|size)") as caught:
        parse_size(text)
    assert "20MB" in (caught.value.hint or "")
    assert "--" not in str(caught.value)


@given(st.integers(1, 10**14))
def test_what_is_shown_can_be_asked_for(size_bytes: int) -> None:
    assert parse_size(format_size(size_bytes)) == size_bytes
