"""The text of every launcher's file, as a literal."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.files.cluster import Host
from plink.launchers import FORMATS

HOSTS = [
    Host("gpu3", "10.0.0.3"),
    Host("gpu1", "10.0.0.1", slots=2),
    Host("node-2.example.org", "2001:db8::2", ssh_address="203.0.113.2", user="bob", port=2222),
]

HOSTS_TEXT = """\
gpu3
gpu1
node-2.example.org
"""

OPENMPI_TEXT = """\
gpu3
gpu1
gpu1
node-2.example.org
"""

RANKFILE_TEXT = """\
rank 0=gpu3 slot=0
rank 1=gpu1 slot=0
rank 2=gpu1 slot=1
rank 3=node-2.example.org slot=0
"""

MPICH_TEXT = """\
gpu3:1
gpu1:2
node-2.example.org:1
"""

TORCHRUN_TEXT = """\
gpu3 GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.3 | cut -d' ' -f2) torchrun \
--rdzv-backend=static --nnodes=3 --node-rank=0 --nproc-per-node=1 \
--master-addr=10.0.0.3 --master-port=29500
gpu1 GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.1 | cut -d' ' -f2) torchrun \
--rdzv-backend=static --nnodes=3 --node-rank=1 --nproc-per-node=2 \
--master-addr=10.0.0.3 --master-port=29500
node-2.example.org GLOO_SOCKET_IFNAME=$(ip -o addr show to 2001:db8::2 | cut -d' ' -f2) torchrun \
--rdzv-backend=static --nnodes=3 --node-rank=2 --nproc-per-node=1 \
--master-addr=10.0.0.3 --master-port=29500
"""

ENV_TEXT = """\
gpu3 RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.0.0.3 \
MASTER_PORT=29500 GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.3 | cut -d' ' -f2)
gpu1 RANK=1 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=10.0.0.3 \
MASTER_PORT=29500 GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.1 | cut -d' ' -f2)
gpu1 RANK=2 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=10.0.0.3 \
MASTER_PORT=29500 GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.1 | cut -d' ' -f2)
node-2.example.org RANK=3 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.0.0.3 \
MASTER_PORT=29500 GLOO_SOCKET_IFNAME=$(ip -o addr show to 2001:db8::2 | cut -d' ' -f2)
"""

TEXTS = {
    "hosts": HOSTS_TEXT,
    "openmpi": OPENMPI_TEXT,
    "openmpi-rankfile": RANKFILE_TEXT,
    "mpich": MPICH_TEXT,
    "torchrun": TORCHRUN_TEXT,
    "env": ENV_TEXT,
}


def test_every_format_is_registered_under_its_name_and_has_a_text_here() -> None:
    assert list(FORMATS) == list(TEXTS)
    for name, found in FORMATS.items():
        assert found.name == name
        assert "FILE" in found.usage


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    assert FORMATS[name].render(HOSTS) == TEXTS[name]


def test_an_ipv6_address_is_a_name_where_colons_mean_nothing() -> None:
    hosts = [Host("2001:db8::1", "2001:db8::1"), Host("b", "b.example.org")]
    assert FORMATS["hosts"].render(hosts) == "2001:db8::1\nb\n"
    assert FORMATS["env"].render(hosts) == (
        "2001:db8::1 RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=2001:db8::1 "
        "MASTER_PORT=29500 "
        "GLOO_SOCKET_IFNAME=$(ip -o addr show to 2001:db8::1 | cut -d' ' -f2)\n"
        "b RANK=1 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=2001:db8::1 "
        "MASTER_PORT=29500\n"
    )


def test_rank_0_may_be_reached_by_a_name() -> None:
    hosts = [Host("a", "a-ib.example.org"), Host("b", "10.0.0.2")]
    assert (
        FORMATS["torchrun"]
        .render(hosts)
        .startswith(
            "a torchrun --rdzv-backend=static --nnodes=2 --node-rank=0 --nproc-per-node=1 "
            "--master-addr=a-ib.example.org --master-port=29500\n"
        )
    )


def ranks_by_host(name: str, text: str) -> list[str]:
    """The host of every rank, read back from a file."""
    lines = [line.split() for line in text.splitlines()]
    if name == "openmpi-rankfile":
        return [words[1].partition("=")[2] for words in lines]
    if name == "mpich":
        pairs = [words[0].split(":") for words in lines]
        return [host for host, count in pairs for _ in range(int(count))]
    if name == "torchrun":
        counts = [next(w for w in words if "nproc" in w).partition("=")[2] for words in lines]
        return [
            words[0] for words, count in zip(lines, counts, strict=True) for _ in range(int(count))
        ]
    return [words[0] for words in lines]


@given(
    st.dictionaries(st.from_regex(r"h[0-9]{1,3}", fullmatch=True), st.integers(1, 5), min_size=1),
    st.randoms(use_true_random=False),
)
def test_every_format_keeps_order_and_slots(slots: dict[str, int], random: Random) -> None:
    hosts = [Host(name, "10.0.0.1", slots=count) for name, count in slots.items()]
    random.shuffle(hosts)
    expected = [host.name for host in hosts for _ in range(host.slots)]
    for name in FORMATS:
        found = ranks_by_host(name, FORMATS[name].render(hosts))
        assert found == ([host.name for host in hosts] if name == "hosts" else expected)
