"""Files of launchers as people write them, given as a host list."""

from __future__ import annotations

import pytest

from plink.probes.errors import HostListError
from plink.probes.inventories.kinds import parse_hosts


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("rank 0=10.0.0.5 slot=0:*\nrank 1=10.0.0.6 slot=0:*\n", {"10.0.0.5": 1, "10.0.0.6": 1}),
        ("rank 1=b slot=0\nrank 0=a slots=1-2\nrank 2=b slot=1", {"a": 1, "b": 2}),
        ("# two\nRank  0 = a   slot = 1:0,2 # core\nrank 1=b\n", {"a": 1, "b": 1}),
        ("b JAX_PROCESS_ID=1 X=1\na JAX_PROCESS_ID=0\n", {"a": 1, "b": 1}),
        ("a torchrun --nnodes=2 --nproc_per_node=8 t.py\nb torchrun --nproc-per-node=4", None),
        ("10.0.0.5 12400\n10.0.0.6 12400\n10.0.0.6 12401", {"10.0.0.5": 1, "10.0.0.6": 2}),
        ('[{"ssh": "a", "ips": ["10.0.0.5"]}, {"ssh": "b", "ips": []}]', {"a": 1, "b": 1}),
    ],
)
def test_hosts_and_slots(text: str, slots: dict[str, int] | None) -> None:
    found = {host.name: host.slots for host in parse_hosts(text.encode(), "file")}
    assert list(found.items()) == list((slots or {"a": 8, "b": 4}).items())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("rank 0=a slot=0\nrank 0=b slot=0\n", 2),
        ("rank 0=a slot=0\nrank 1=+n1 slot=0\n", 2),
        ("rank 0=a slot=0\nrank one=b\n", 2),
        ("rank 0=a=b slot=0\n", 1),
        ("a RANK=0\nb\n", 2),
    ],
)
def test_a_line_that_does_not_fit_is_named(text: str, line: int) -> None:
    with pytest.raises(HostListError) as caught:
        parse_hosts(text.encode(), "file")
    assert str(caught.value).startswith(f"file:{line}: ")


def test_a_missing_rank_is_named() -> None:
    with pytest.raises(HostListError, match="rank 1 is missing"):
        parse_hosts(b"rank 0=a slot=0\nrank 2=b slot=0\n", "file")
