"""The engine on hosts that vanish from the network: the remaining ranks name the missing one in
time, and continue without it in the same process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.processes import begin_again, running_ranks
from support.lab import Lab

pytestmark = pytest.mark.lab


@contextmanager
def cut_off(lab: Lab, host: str) -> Iterator[None]:
    """Its packets are dropped, in both directions."""
    lab.lab("stop", host)
    try:
        yield
    finally:
        lab.lab("start", host)


def test_hosts_that_vanish_are_named_and_done_without(lab: Lab, tmp_path: Path) -> None:
    hosts = lab.names[:4]
    addresses = [lab.truth["addresses"][host] for host in hosts]
    places = [
        (address, lab.command(host, [])) for host, address in zip(hosts, addresses, strict=True)
    ]
    with running_ranks("chains", 4, tmp_path / "1", places=places) as ranks:
        # Its process ends while nobody can hear that; of what comes once its host is back the
        # others learn that their connections are no more, long before they would call it silent.
        with cut_off(lab, hosts[3]):
            ranks[3].end()
        words = [rank.hear() for rank in ranks[:3]]
        assert {word["rank"] for word in words} == {3}
        assert len({word["message"] for word in words}) == 1
        assert f"rank 3 ({addresses[3]}) is lost" in words[0]["message"]

        begin_again(ranks[:3], tmp_path / "2", silence_timeout_s=8.0)
        with cut_off(lab, hosts[1]):
            # Each side takes the other for lost: two ranks agree on one, the third is alone.
            words = [rank.hear() for rank in ranks[:3]]
        assert [word["event"] for word in words] == ["failed"] * 3
        assert words[0] == words[2]
        assert words[0]["rank"] == 1
        assert f"rank 1 ({addresses[1]})" in words[0]["message"]

        # The network is whole again.
        begin_again(ranks[:3], tmp_path / "3")
