"""What the environment says, and what it must not."""

from __future__ import annotations

import pytest

from plink.autotune.ranks.settings import parse_address
from plink.errors import WrongUseError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("h:7000", ("h", 7000)),
        ("n01.rack-3.example.:0", ("n01.rack-3.example.", 0)),
        ("10.0.0.1:65535", ("10.0.0.1", 65535)),
        ("[::1]:7", ("::1", 7)),
        ("[fe80::1%eth0]:7", ("fe80::1%eth0", 7)),
        ("büro:7", ("büro", 7)),
        ("a" * 63 + ":7", ("a" * 63, 7)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text, "--attach") == address


@pytest.mark.parametrize(
    "text",
    [
        *("", "h", ":7", "h:", "h:-1", "h:65536", "h:" + 5000 * "1", "h:x"),
        *("a..b:7000", ".a:7", "a" * 64 + ":7", "b." + "ü" * 60 + ":7", "\ud800:7"),
    ],
)
def test_what_is_no_address_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(WrongUseError, match="--attach is "):
        parse_address(text, "--attach")
