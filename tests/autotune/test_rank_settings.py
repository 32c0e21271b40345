"""What the environment says, and what it must not."""

from __future__ import annotations

import pytest

from plink.autotune.ranks.settings import settings_of
from plink.base.errors import WrongUseError
from plink.transport.addresses import parse_address


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


def test_ranks_pause_only_where_the_group_waits_long_enough() -> None:
    environment = {"PLINK_AUTOTUNE": "h:1"}
    for timeout_s, may_pause in ((8.0, False), (39.0, False), (40.0, True), (1800.0, True)):
        settings = settings_of(environment, timeout_s)
        assert settings is not None
        assert settings.may_pause == may_pause
    assert settings_of({}, 8.0) is None
