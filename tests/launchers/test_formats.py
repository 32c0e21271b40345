"""The text of every launcher's file, as a literal."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launchers.texts import HOSTS, TEXTS
from plink.base.errors import WrongUseError
from plink.deploy import launchers
from plink.deploy.launchers import FORMATS
from plink.formats.hosts import Host

# Their texts are in test_kubernetes.py.
KUBERNETES = ["pytorchjob", "trainjob", "mpijob", "leaderworkerset", "jobset"]


def test_every_format_is_registered_under_its_name_and_has_a_text_here() -> None:
    assert list(FORMATS) == [*TEXTS, *KUBERNETES]
    for name, found in FORMATS.items():
        assert found.name == name
        assert "FILE" in found.usage
    about = [found.about for found in launchers.ALL.values()]
    assert len(about) == len(FORMATS) + len(launchers.TOPOLOGIES)
    assert all("\n" not in text and len(text) < 90 for text in about)


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    assert FORMATS[name].render(HOSTS) == TEXTS[name]


def test_blanks_of_a_usage_line_are_whole_words() -> None:
    assert launchers.ALL["slurm"].build_usage("RANKS/FILE", 4) == (
        "SLURM_HOSTFILE=$(realpath RANKS/FILE) srun --distribution=arbitrary -n 4 PROGRAM"
    )
    assert (
        launchers.ALL["slurm-tree"]
        .build_usage("t", None)
        .startswith("cp t /etc/slurm/topology.conf")
    )


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
    if name.endswith("-rankfile"):
        return [words[1].partition("=")[2] for words in lines]
    if name in ("mpich", "intelmpi"):
        pairs = [words[0].split(":") for words in lines]
        return [host for host, count in pairs for _ in range(int(count))]
    if name in ("horovod", "deepspeed"):
        return [host for host, slots in lines for _ in range(int(slots.partition("=")[2]))]
    if name == "mlx":
        return [entry["ssh"] for entry in json.loads(text)]
    if name == "torchrun-script":
        lines = [words[1:] for words in lines if words[0] == "on"]
    if name in ("torchrun", "torchrun-script"):
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
    hosts = [
        Host(name, f"10.0.{index >> 8}.{index & 255}", slots=count)
        for index, (name, count) in enumerate(slots.items())
    ]
    random.shuffle(hosts)
    expected = [host.name for host in hosts for _ in range(host.slots)]
    by_address = {host.address: host.name for host in hosts}
    for name in TEXTS:
        found = ranks_by_host(name, FORMATS[name].render(hosts))
        if name == "lightgbm":
            found = [by_address[address] for address in found]
        assert found == ([host.name for host in hosts] if name == "hosts" else expected)


# A host's ranks are apart: gpu1 has ranks 0, 2 and 3.
APART = [Host("gpu1", "10.0.0.1"), Host("gpu2", "10.0.0.2"), Host("gpu1", "10.0.0.1", slots=2)]

APART_TEXTS = {
    "openmpi": "gpu1\ngpu2\ngpu1\ngpu1\n",
    "openmpi-rankfile": (
        "rank 0=gpu1 slot=0\nrank 1=gpu2 slot=0\nrank 2=gpu1 slot=1\nrank 3=gpu1 slot=2\n"
    ),
    "mpich": "gpu1:1\ngpu2:1\ngpu1:2\n",
    "intelmpi": "gpu1:1\ngpu2:1\ngpu1:2\n",
    "slurm": "gpu1\ngpu2\ngpu1\ngpu1\n",
    "lightgbm": "10.0.0.1 12400\n10.0.0.2 12400\n10.0.0.1 12401\n10.0.0.1 12402\n",
    "mlx": """\
[
{"ssh": "gpu1", "ips": ["10.0.0.1"]},
{"ssh": "gpu2", "ips": ["10.0.0.2"]},
{"ssh": "gpu1", "ips": ["10.0.0.1"]},
{"ssh": "gpu1", "ips": ["10.0.0.1"]}
]
""",
    "jax": "".join(
        f"{name} JAX_COORDINATOR_ADDRESS=10.0.0.1:29500 JAX_NUM_PROCESSES=4 JAX_PROCESS_ID={rank}\n"
        for rank, name in enumerate(["gpu1", "gpu2", "gpu1", "gpu1"])
    ),
}


@pytest.mark.parametrize("name", APART_TEXTS)
def test_ranks_of_a_host_may_be_apart_where_the_launcher_can(name: str) -> None:
    assert launchers.render(name, APART, ()) == APART_TEXTS[name]


def test_environments_count_the_ranks_of_a_host_that_are_apart() -> None:
    lines = launchers.render("env", APART, ()).splitlines()
    assert [line.split()[:5] for line in lines] == [
        ["gpu1", "RANK=0", "WORLD_SIZE=4", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=3"],
        ["gpu2", "RANK=1", "WORLD_SIZE=4", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1"],
        ["gpu1", "RANK=2", "WORLD_SIZE=4", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=3"],
        ["gpu1", "RANK=3", "WORLD_SIZE=4", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=3"],
    ]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("hosts", "it lists every host once"),
        ("torchrun", "torchrun numbers the ranks of a host one after the other"),
        ("torchrun-script", "torchrun numbers the ranks of a host one after the other"),
        ("nccl", "NCCL takes hosts as they come, with all their ranks together"),
        ("horovod", "Horovod takes a host once"),
        ("deepspeed", "DeepSpeed takes a host once"),
        *((kind, "a pod has ranks in a row, and a node one pod") for kind in KUBERNETES),
    ],
)
def test_ranks_that_are_apart_are_refused_where_it_cannot(name: str, why: str) -> None:
    with pytest.raises(WrongUseError, match=f"needs the ranks of 'gpu1' to be adjacent: {why}"):
        launchers.render(name, APART, ())


def test_every_format_takes_ranks_that_are_apart_or_says_why_not() -> None:
    taken = {name for name, found in FORMATS.items() if found.adjacent_because is None}
    assert taken == {*APART_TEXTS, "openmpi5-rankfile", "env"}
