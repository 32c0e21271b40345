"""A DPDK agent that cannot work says why in one sentence, and nothing else."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from labkit.fleeting import Namespace, namespaces
from plink.probes.dpdk.tool import AGENT_FILE
from support.dpdk_agent import complaint_of, opening, start_agent
from support.require import require_dpdk

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def host() -> Iterator[Namespace]:
    require_dpdk()
    with namespaces(1) as (host,):
        host.run("ip link add eth0 type veth peer name wire")
        host.run("ip link set eth0 up")
        host.run("ip address add 10.77.3.2/24 dev eth0")
        host.run("ip tuntap add tunnel mode tun")
        host.run("ip address add 10.77.4.2/24 dev tunnel")
        yield host


def test_the_right_to_raw_sockets_is_missing(host: Namespace) -> None:
    without = ("setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-net_raw")
    agent = start_agent(host, prefix=without)
    complaint = complaint_of(agent, opening("10.77.3.2"))
    assert "it takes root (or the capabilities CAP_NET_RAW and CAP_NET_ADMIN)" in complaint


@pytest.mark.parametrize(("address", "name"), [("127.0.0.1", "lo"), ("10.77.4.2", "tunnel")])
def test_the_interface_is_not_ethernet(host: Namespace, address: str, name: str) -> None:
    complaint = complaint_of(start_agent(host), opening(address))
    assert complaint == f"its interface {name} is not Ethernet, which DPDK needs"


def test_no_interface_has_the_address(host: Namespace) -> None:
    complaint = complaint_of(start_agent(host), opening("192.0.2.7"))
    assert complaint == "no interface there has its traffic address"


def test_the_udp_port_is_taken(host: Namespace) -> None:
    with host.socket(2, 2) as other:
        other.bind(("10.77.3.2", 5301))
        complaint = complaint_of(start_agent(host), opening("10.77.3.2", 5301))
    assert complaint == "cannot open its UDP port: Address already in use"


def test_there_is_no_such_pci_device(host: Namespace) -> None:
    agent = start_agent(host, ("ffff:ff:1f.7", "24"))
    assert complaint_of(agent, opening("10.77.3.9")) == "has no PCI device ffff:ff:1f.7"


def test_the_kernel_uses_the_pci_device(host: Namespace) -> None:
    used = [
        path.parent
        for path in sorted(Path("/sys/bus/pci/devices").glob("*/driver"))
        if path.readlink().name not in ("vfio-pci", "uio_pci_generic", "igb_uio")
    ]
    if not used:
        pytest.skip("needs a PCI device that the kernel uses")
    device, driver = used[0].name, (used[0] / "driver").readlink().name
    complaint = complaint_of(start_agent(host, (device, "24")), opening("10.77.3.9"))
    assert complaint == (
        f"PCI device {device} is in use by the kernel's driver {driver}: bind it to vfio-pci "
        f"(dpdk-devbind.py --bind=vfio-pci {device})"
    )


def test_there_is_no_such_driver(host: Namespace) -> None:
    agent = start_agent(host, ("net_nonsense0", "24"))
    complaint = complaint_of(agent, opening("10.77.3.9"))
    assert complaint.startswith("DPDK does not start: ")


def test_a_nic_of_its_own_takes_no_ipv6(host: Namespace) -> None:
    agent = start_agent(host, ("net_tap0,iface=tap0", "24"))
    complaint = complaint_of(agent, opening("fd77::9"))
    assert complaint == "a NIC of the agent's own works with IPv4 addresses only"


@pytest.mark.parametrize(
    "arguments", [["x"], ["net_tap0", "33"], ["net_tap0", "24", "fd77::1"], ["a", "1", "b", "c"]]
)
def test_wrong_arguments(arguments: list[str]) -> None:
    require_dpdk()
    done = subprocess.run([AGENT_FILE, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: ")


def test_nothing_is_left_in_the_file_system(host: Namespace) -> None:
    agent = start_agent(host)
    assert agent.stdin is not None
    assert agent.stdout is not None
    agent.stdin.write(opening("10.77.3.2"))
    agent.stdin.flush()
    assert agent.stdout.readline().startswith("bound ")
    for folder in (Path("/tmp"), Path("/var/run/dpdk")):
        assert not list(folder.glob(f"*plink-{agent.pid}*"))
    agent.communicate("stop\n", timeout=100)
    assert agent.returncode == 0


def test_every_thread_gives_up_its_capabilities(host: Namespace) -> None:
    """Also those that DPDK started before, for an ordinary user."""
    as_user = ("setpriv", "--reuid=1234", "--clear-groups")
    right = ("--inh-caps=+net_raw,+net_admin", "--ambient-caps=+net_raw,+net_admin")
    agent = start_agent(host, prefix=(*as_user, *right))
    assert agent.stdin is not None
    assert agent.stdout is not None
    try:
        agent.stdin.write(opening("10.77.3.2"))
        agent.stdin.flush()
        assert agent.stdout.readline().startswith("bound "), agent.communicate()
        agent.stdin.write("alive\n")
        agent.stdin.flush()
        assert agent.stdout.readline() == "alive\n"
        threads = list(Path(f"/proc/{agent.pid}/task").iterdir())
        assert len(threads) > 1
        for thread in threads:
            status = (thread / "status").read_text()
            words = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            kept = [int(words[f"Cap{kind}"], 16) for kind in ("Inh", "Prm", "Eff", "Amb")]
            assert kept == [0, 0, 0, 0], words["Name"]
            assert words["NoNewPrivs"] == "1", words["Name"]
    finally:
        agent.kill()
        agent.communicate()
