"""The list of NICs that hosts give to DPDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.measure.probing.request import ProbeRequest, resume_tool
from plink.measure.requests import read_nics
from plink.probes.errors import OptionError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import DpdkOptions, Nic, parse_nics
from support.plink_command import plink_here

FIRST = Nic("gpu1", "0000:00:06.0", IPv4Interface("10.9.0.7/24"), IPv4Address("10.9.0.1"))
SECOND = Nic("gpu2", "net_tap0,iface=tap0", IPv4Interface("10.9.0.8/24"))
TEXT = """\
# host  device
gpu1 0000:00:06.0 10.9.0.7/24 10.9.0.1  # has a router

gpu2 net_tap0,iface=tap0 10.9.0.8/24
"""

names = st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True)
devices = st.sampled_from(["0000:00:06.0", "00ff:af:1f.7", "net_tap0,iface=t0", "net_null0"])
interfaces = st.builds(
    lambda address, bits: IPv4Interface(f"{address}/{bits}"),
    st.ip_addresses(v=4),
    st.integers(0, 32),
)


def test_what_a_file_lists() -> None:
    assert parse_nics(TEXT.splitlines(), "nics") == (FIRST, SECOND)


@given(names, devices, interfaces, st.booleans())
def test_a_nic_is_read_from_its_own_line(
    host: str, device: str, address: IPv4Interface, has_gateway: bool
) -> None:
    gateway = address.network.network_address if has_gateway else None
    nic = Nic(host, device, address, gateway)
    assert parse_nics([str(nic)], "nics") == (nic,)


@given(st.text().filter(lambda text: text.partition("#")[0].strip()))
def test_any_other_line_is_refused_by_number(line: str) -> None:
    with pytest.raises(OptionError, match=r"^nics:1: ") as caught:
        parse_nics([line], "nics")
    assert caught.value.hint is not None


@pytest.mark.parametrize(
    "line",
    [
        "gpu1 0000:00:06.0",
        "gpu1 0000:00:06.0 10.9.0.7/24 10.9.0.1 more",
        "gpu1 eth1 10.9.0.7/24",
        "gpu1 00:06.0 10.9.0.7/24",
        "gpu1 --vdev=net_null0 10.9.0.7/24",
        "gpu1 net_tap0,iface=a$(id) 10.9.0.7/24",
        "gpu1 0000:00:06.0 10.9.0.7",
        "gpu1 0000:00:06.0 10.9.0.7/33",
        "gpu1 0000:00:06.0 fd00::7/64",
        "gpu1 0000:00:06.0 10.9.0.7/24 10.8.0.1",
        "gpu2 0000:00:06.0 10.9.0.9/24",
        "gpu3 0000:00:06.0 10.9.0.8/24",
    ],
)
def test_a_wrong_line_is_named(line: str) -> None:
    with pytest.raises(OptionError, match=r"^nics:2: "):
        parse_nics([str(SECOND), line], "nics")


def resumed_nics(recorded: Mapping[str, object], **given: object) -> Sequence[Nic]:
    return resume_tool(DpdkOptions, given, recorded, "c").nics


def test_the_recorded_nics_are_used_again() -> None:
    recorded = {"nics": [str(FIRST), str(SECOND)]}
    assert resumed_nics(recorded) == (FIRST, SECOND)
    assert resumed_nics(recorded, nics=(FIRST, SECOND)) == (FIRST, SECOND)
    assert resumed_nics({}) == ()


@pytest.mark.parametrize("recorded", [{}, {"nics": [str(FIRST)]}, {"nics": 3}, {"nics": [3]}])
def test_other_nics_than_the_recorded_are_refused(recorded: dict[str, object]) -> None:
    with pytest.raises(WrongUseError, match=r"^c: "):
        resumed_nics(recorded, nics=(SECOND,))


def test_nics_of_no_listed_host_are_refused() -> None:
    ProbeRequest([ListedHost("gpu1"), ListedHost("gpu2")], options=DpdkOptions(nics=(FIRST,)))
    with pytest.raises(WrongUseError, match="gpu2 is not in the host list"):
        ProbeRequest([ListedHost("gpu1")], options=DpdkOptions(nics=(FIRST, SECOND)))


def test_only_dpdk_takes_nics(tmp_path: Path) -> None:
    file = tmp_path / "nics"
    file.write_text(TEXT)
    assert read_nics(str(file)) == (FIRST, SECOND)
    done = plink_here("probe", "-", "-o", "-", "--nics", file, text="gpu1\ngpu2\n")
    assert done.code == 2
    assert done.stderr.startswith("error: --nics applies to the tool dpdk, not echo\n")
