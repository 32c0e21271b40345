"""What each launcher cannot take is refused in one sentence that says so."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.deploy.launchers import FORMATS
from plink.formats.hosts import Host

LAUNCHERS = {
    "hosts": "a list of names",
    "openmpi": "Open MPI",
    "openmpi-rankfile": "Open MPI",
    "mpich": "MPICH",
    "torchrun": "torchrun",
    "env": "a list of environments",
    "openmpi5-rankfile": "Open MPI",
    "intelmpi": "Intel MPI",
    "slurm": "Slurm",
    "torchrun-script": "torchrun",
    "nccl": "NCCL",
    "horovod": "Horovod",
    "deepspeed": "DeepSpeed",
    "lightgbm": "LightGBM",
    "jax": "JAX",
    "mlx": "MLX",
    "pytorchjob": "PyTorchJob",
    "trainjob": "TrainJob",
    "mpijob": "MPIJob",
    "leaderworkerset": "LeaderWorkerSet",
    "jobset": "JobSet",
}
KUBERNETES = ["pytorchjob", "trainjob", "mpijob", "leaderworkerset", "jobset"]
NO_IPV6 = ["openmpi", "openmpi-rankfile", "mpich", "intelmpi", "slurm", "horovod", "deepspeed"]
OPEN_MPI = ["openmpi", "openmpi-rankfile"]


def refusal(name: str, hosts: list[Host]) -> WrongUseError:
    with pytest.raises(WrongUseError) as caught:
        FORMATS[name].render(hosts)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "odd",
    [
        *[
            "a b",
            " a",
            "a\n",
            "a\tb",
            "a\x00",
            "",
            "#a",
            "-a",
            "-oProxyCommand=id",
            "a;id",
            "$(id)",
        ],
        *["`id`", "a'b", 'a"b', "a\\b", "a=b", "a,b", "a/b", "a@b", "bücher", "a:2", "[::1]"],
        *["::1%$(id)", "1:2:3"],
    ],
)
def test_names_that_are_none(name: str, odd: str) -> None:
    error = refusal(name, [Host("good", "10.0.0.1"), Host(odd, "10.0.0.2")])
    assert str(error) == f"{LAUNCHERS[name]} cannot take the host {odd!r}, which is not a host name"
    assert error.hint


@pytest.mark.parametrize("name", FORMATS)
def test_no_host(name: str) -> None:
    assert str(refusal(name, [])) == f"{LAUNCHERS[name]} needs at least one host"


@pytest.mark.parametrize("name", [*NO_IPV6, *KUBERNETES])
def test_ipv6(name: str) -> None:
    error = refusal(name, [Host("2001:db8::1", "2001:db8::1")])
    launcher = LAUNCHERS[name]
    assert str(error) == f"{launcher} cannot take the host '2001:db8::1', which is an IPv6 address"


@pytest.mark.parametrize("name", OPEN_MPI)
@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ("a_b", "has characters other than letters, digits, dots and hyphens"),
        (".a", "has characters other than letters, digits, dots and hyphens"),
        ("007", "is read as a number"),
        ("slots", "is a keyword of its host files"),
        ("rank", "is a keyword of its host files"),
        ("max-slots", "is a keyword of its host files"),
        ("good.other.org", "is also 'good.example.org' when both are cut at the first dot"),
        ("good", "is also 'good.example.org' when both are cut at the first dot"),
    ],
)
def test_names_that_open_mpi_reads_otherwise(name: str, odd: str, reason: str) -> None:
    error = refusal(name, [Host("good.example.org", "10.0.0.1"), Host(odd, "10.0.0.2")])
    assert str(error) == f"Open MPI cannot take the host {odd!r}, which {reason}"


@pytest.mark.parametrize("name", OPEN_MPI)
def test_addresses_are_not_cut_at_dots(name: str) -> None:
    hosts = [Host("10.0.0.1", "10.0.0.1"), Host("10.0.0.2", "10.0.0.2")]
    assert "10.0.0.2" in FORMATS[name].render(hosts)


@pytest.mark.parametrize("name", ["torchrun", "torchrun-script", "env", "nccl", "jax"])
@pytest.mark.parametrize("address", ["$(id)", "10.0.0.1;id", "a b", "-x", "fe80::1%eth0"])
def test_an_address_that_is_none_never_reaches_a_shell(name: str, address: str) -> None:
    hosts = [Host("a", address), Host("b", "10.0.0.2")]
    message = f"{LAUNCHERS[name]} cannot reach rank 0 at {address!r}, which is not an address"
    assert str(refusal(name, hosts)) == message
    # Of another host only the interface is looked up, and only for an address.
    assert address not in FORMATS[name].render(hosts[::-1])


def test_long_names_are_cut_in_the_message() -> None:
    assert len(str(refusal("hosts", [Host("x " * 500, "10.0.0.1")]))) < 120


@pytest.mark.parametrize("name", ["lightgbm", "mlx"])
@pytest.mark.parametrize("address", ["2001:db8::1", "gpu1", "10.0.0.256"])
def test_addresses_that_must_be_ipv4(name: str, address: str) -> None:
    error = refusal(name, [Host("a", address), Host("b", "10.0.0.2")])
    reason = "has no IPv4 address in the cluster file"
    assert str(error) == f"{LAUNCHERS[name]} cannot take the host 'a', which {reason}"


def test_lightgbm_tells_machines_apart_by_address_and_port() -> None:
    error = refusal("lightgbm", [Host("a", "10.0.0.1"), Host("b", "10.0.0.1")])
    assert str(error) == "LightGBM cannot take the host 'b', which has the same address as 'a'"
    error = refusal("lightgbm", [Host("a", "10.0.0.1", slots=60_000)])
    assert (
        str(error)
        == "LightGBM cannot take the host 'a', which has too few ports from 12400 on for 60000 "
        "ranks"
    )


@pytest.mark.parametrize("name", KUBERNETES)
def test_pods_of_a_job_are_alike(name: str) -> None:
    error = refusal(name, [Host("a", "10.0.0.1"), Host("b", "10.0.0.2", slots=2)])
    reason = "has 2 slots, while other hosts have another number"
    assert str(error) == f"{LAUNCHERS[name]} cannot take the host 'b', which {reason}"
    for odd in ("Gpu1", "a_b", "a.", "a" * 64):
        error = refusal(name, [Host(odd, "10.0.0.1")])
        assert str(error).endswith("which cannot name a node")


HARMLESS = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.:-]*")
ANYTHING = st.text(min_size=1) | st.from_regex(r"[a-z0-9$;|&'\"`\\ -]{1,9}", fullmatch=True)


@given(ANYTHING, ANYTHING)
def test_any_name_and_address_make_plain_words_or_an_error(host: str, address: str) -> None:
    for found in FORMATS.values():
        try:
            text = found.render([Host(host, address)])
        except WrongUseError:
            continue
        assert HARMLESS.fullmatch(host)
        # An address that is none may only be left out.
        without = found.render([Host(host, "10.0.0.1")])
        assert HARMLESS.fullmatch(address) or len(text) <= len(without)
        assert text.isascii()
