"""Short names of hosts: distinct, and told."""

from __future__ import annotations

import pytest

from plink.show.page.charts import LONGEST_NAME, short_names, shortening_note


@pytest.mark.parametrize(
    "names",
    [
        [f"gpu-worker-eu-west-1a-{host:04d}.cluster.example.org" for host in range(20)],
        [f"ip-10-0-0-{host}.eu-west-1.compute.internal" for host in range(30)],
        ["a", "b" * 40, "b" * 41],
        ["x" * 40],
        ["n" * 20 + str(host) for host in range(12)],
    ],
)
def test_long_names_become_short_ones_that_are_distinct(names: list[str]) -> None:
    short = short_names(names)
    assert len(set(short)) == len(names)
    assert max(map(len, short)) <= LONGEST_NAME
    assert "short" in shortening_note(names)


def test_what_all_names_share_is_left_out() -> None:
    names = [f"gpu-worker-eu-west-1a-{host:04d}.cluster.example.org" for host in range(3)]
    assert short_names(names) == ["…0000…", "…0001…", "…0002…"]
    assert "…0000… is gpu-worker-eu-west-1a-0000.cluster.example.org" in shortening_note(names)


def test_short_names_stay_as_they_are() -> None:
    assert short_names(["rack-1-n01", "rack-1-n02"]) == ["rack-1-n01", "rack-1-n02"]
    assert shortening_note(["n01", "n02"]) == ""
