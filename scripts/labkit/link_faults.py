"""Faults of the links of a standing lab, as real networks have them. Each returns its remedy."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from labkit import operations, texts, wiring
from labkit.entry import host_command, machine_command
from labkit.errors import LabError
from labkit.namespaces import configure, configure_if_known, inside, processes_in
from labkit.registry import ROOT_REGISTRY, Registry
from labkit.state import State
from labkit.system import run
from labkit.wiring import BRIDGE, HOST_INTERFACE, UP_PORT, End, namespace

Remedy = Callable[[], None]

_CPU_GROUPS = Path("/sys/fs/cgroup/cpu")
_CPU_PERIOD_US = 20_000
_CROSS_PORT = 5999
_MTU_BYTES = 1500
_APPEARS_WITHIN_S = 10.0


def slow_link(state: State, element: str, mbit: int) -> Remedy:
    """Let a host's link, or a rack's uplink, carry so much in either direction."""
    before = _rate_bits(state, element)
    _set_rate(state, element, mbit * 1_000_000)
    return lambda: _set_rate(state, element, before)


def slow_one_way(state: State, element: str, mbit: int, *, sends: bool) -> Remedy:
    """Let it carry so much in one direction, as what is below the link sees it."""
    lower, upper, *_ = wiring.shaped_ends(state.topology, element)
    end, before = (lower if sends else upper), _rate_bits(state, element)
    _shape(state, end, mbit * 1_000_000)
    return lambda: _shape(state, end, before)


def shallow_queue(state: State, element: str, milliseconds: int) -> Remedy:
    """Let packets wait so long at most at both ends of a link, as in a switch's small buffers."""
    rate_bits = _rate_bits(state, element)
    for end in wiring.shaped_ends(state.topology, element) if rate_bits is not None else ():
        words = texts.shaping_command(end.interface, rate_bits or 0).split()
        with inside(namespace(state.name, end.element)):
            run(["tc", "-batch", "-"], " ".join([*words[:-1], f"{milliseconds}ms"]))
    return lambda: _set_rate(state, element, rate_bits)


def lose(state: State, host: str, share: float, sources: Sequence[str] | None = None) -> Remedy:
    """Let a host lose a share of the packets that come from some hosts, by default from all."""
    matched = ["-m", "statistic", "--mode", "random", "--probability", f"{share:.4f}"]
    return _rules(state, host, sources, [[*matched, "-j", "DROP"]])


def police(
    state: State, host: str, packets_s: int, burst: int, sources: Sequence[str] | None = None
) -> Remedy:
    """Let a policer before a host drop what is more than so many packets a second and a burst."""
    limit = ["-m", "limit", "--limit", f"{packets_s}/second", "--limit-burst", str(burst)]
    return _rules(state, host, sources, [[*limit, "-j", "ACCEPT"], ["-j", "DROP"]])


def other_mtu(state: State, host: str, mtu_bytes: int) -> Remedy:
    """Give a host's interface another MTU."""

    def put(value: int) -> None:
        with inside(namespace(state.name, host)):
            run(["ip", "link", "set", "dev", HOST_INTERFACE, "mtu", str(value)])

    put(mtu_bytes)
    return lambda: put(_MTU_BYTES)


def other_congestion_control(state: State, host: str, name: str) -> Remedy:
    """Let a host's TCP use another congestion control."""
    path = Path("/proc/sys/net/ipv4/tcp_congestion_control")
    with inside(namespace(state.name, host)):
        before = path.read_text().strip()
        configure("ipv4/tcp_congestion_control", name)

    def remedy() -> None:
        with inside(namespace(state.name, host)):
            configure("ipv4/tcp_congestion_control", before)

    return remedy


def busy_processor(state: State, host: str, share: float) -> Remedy:
    """Let a host's programs have so much of one processor, as beside other work in a container."""
    group = _CPU_GROUPS / f"plink-{state.name}-{host}"
    group.mkdir()
    (group / "cpu.cfs_period_us").write_text(str(_CPU_PERIOD_US))
    (group / "cpu.cfs_quota_us").write_text(str(round(share * _CPU_PERIOD_US)))
    for pid in processes_in([namespace(state.name, host)]):
        (group / "cgroup.procs").write_text(str(pid))

    def remedy() -> None:
        for pid in (group / "cgroup.procs").read_text().split():
            (_CPU_GROUPS / "cgroup.procs").write_text(pid)
        group.rmdir()

    return remedy


def longer_way(state: State, host: str, switches: int) -> Remedy:
    """Put so many more switches between a host and its rack. It stays so: the lab is to go down."""
    port = wiring.host_cables(state.topology.host(host))[0].upper
    there = _new_namespace(state, f"{host}-way")
    with inside(namespace(state.name, port.element)):
        run(["ip", "link", "set", "dev", port.interface, "netns", there])
        _cable(f"w-{host}", "last", there)
        run(["ip", "-batch", "-"], texts.port_batch([f"w-{host}"]))
    with inside(there):
        ends = [port.interface]
        for number in range(1, switches):
            _cable(f"a{number}", f"b{number}", there)
            ends += [f"a{number}", f"b{number}"]
        ends.append("last")
        for number, ports in enumerate(zip(ends[::2], ends[1::2], strict=True)):
            _bridge(f"br{number}", ports)
        rate_bits = state.topology.host(host).rate_bits
        if rate_bits is not None:
            run(["tc", "-batch", "-"], texts.shaping_command(port.interface, rate_bits))
    _forget_ways(state)
    return _nothing


def half_duplex(state: State, rack: str, mbit: int) -> Remedy:
    """Let both directions of a rack's uplink share so much. It stays so, as in `longer_way`.

    Frames of both directions leave one interface, which is shaped: those from below and those from
    above enter a bridge whose two ports do not see each other, cross one cable, and are told apart
    by their destination.
    """
    topology = state.topology
    members = [
        wiring.hardware_address(host.address) for host in topology.hosts if host.rack == rack
    ]
    others = [
        wiring.hardware_address(address)
        for address in (
            topology.machine_address,
            *(host.address for host in topology.hosts if host.rack != rack),
        )
    ]
    cable = next(each for each in wiring.trunks(topology) if each.lower == End(rack, UP_PORT))
    above, there = cable.upper.element, _new_namespace(state, f"{rack}-half")
    sides = ((rack, UP_PORT, others), (above, cable.upper.interface, members))
    for element, port, _ in sides:
        with inside(namespace(state.name, element)):
            run(["ip", "link", "set", "dev", port, "nomaster"])
            for way in ("to", "of"):
                _cable(f"{way}-{rack}", f"{way}-{element}", there)
    with inside(there):
        run(["ip", "link", "add", "name", "x", "type", "veth", "peer", "name", "y"])
        _bridge("br0", [f"to-{rack}", f"to-{above}", "x"])
        _bridge("br1", [f"of-{rack}", f"of-{above}", "y"])
        for port in (f"to-{rack}", f"to-{above}"):
            _port(port, "isolated", "on")
            _port(port, "learning", "off")
        _port("x", "learning", "off")
        # A frame to all would come back by the other bridge, for ever.
        for port in ("y", f"of-{rack}", f"of-{above}"):
            _deaf(port)
        _stations(f"of-{rack}", members)
        _stations(f"of-{above}", others)
        run(["tc", "-batch", "-"], texts.shaping_command("x", mbit * 1_000_000))
    for element, _, behind in sides:
        with inside(namespace(state.name, element)):
            for way in ("to", "of"):
                run(["ip", "link", "set", "dev", f"{way}-{rack}", "master", BRIDGE])
            _deaf(f"of-{rack}")
            _stations(f"to-{rack}", behind)
            for way in ("to", "of"):
                run(["ip", "link", "set", "dev", f"{way}-{rack}", "up"])
    return _nothing


def unshape(state: State, host: str) -> Remedy:
    """Let a host's link carry whatever comes."""
    before = _rate_bits(state, host)
    _set_rate(state, host, None)
    return lambda: _set_rate(state, host, before)


@contextmanager
def cross_traffic(state: State, host: str, *, options: Sequence[str]) -> Iterator[None]:
    """Other people's traffic from a host to the machine, which is at the top of the lab.

    Args:
        state: of the lab.
        host: that sends, or receives, with the option `-R`.
        options: iperf3's.
    """
    port = str(_CROSS_PORT)
    server = _start(machine_command(state, ["iperf3", "-s", "-p", port]))
    try:
        _await_listening()
        argv = ["iperf3", "-c", state.topology.machine_address, "-p", port, "-t", "600", *options]
        client = _start(host_command(state, host, argv))
        try:
            yield
        finally:
            _end(client)
    finally:
        _end(server)


def _start(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    nothing = subprocess.DEVNULL
    return subprocess.Popen(argv, stdin=nothing, stdout=nothing, stderr=nothing)


def _await_listening() -> None:
    deadline = time.monotonic() + _APPEARS_WITHIN_S
    while time.monotonic() < deadline:
        if f":{_CROSS_PORT:04X} " in Path("/proc/net/tcp6").read_text():
            return
        time.sleep(0.02)
    raise LabError("no iperf3 listens on the machine")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _rules(
    state: State, host: str, sources: Sequence[str] | None, actions: Sequence[Sequence[str]]
) -> Remedy:
    """Rules for what enters a host; the machine, and so SSH from there, is not concerned."""
    topology = state.topology
    names = [each.name for each in topology.hosts if each.name != host]
    addresses = [topology.host(name).address for name in (names if sources is None else sources)]
    chain = "PLINK"
    lines = [["-N", chain]]
    lines += [["-A", "INPUT", "-s", address, "-j", chain] for address in addresses]
    lines += [["-A", chain, *action] for action in actions]
    with inside(namespace(state.name, host)):
        for line in lines:
            run(["iptables", *line])

    def remedy() -> None:
        with inside(namespace(state.name, host)):
            for address in addresses:
                run(["iptables", "-D", "INPUT", "-s", address, "-j", chain])
            run(["iptables", "-F", chain])
            run(["iptables", "-X", chain])

    return remedy


def _set_rate(state: State, element: str, rate_bits: int | None) -> None:
    registry = Registry(ROOT_REGISTRY)
    with registry.locked():
        operations.set_rate(registry, registry.find(state.name), element, rate_bits)


def _rate_bits(state: State, element: str) -> int | None:
    for switch in state.topology.switches:
        if switch.name == element:
            return switch.uplink_rate_bits
    return state.topology.host(element).rate_bits


def _shape(state: State, end: End, rate_bits: int | None) -> None:
    with inside(namespace(state.name, end.element)):
        if rate_bits is not None:
            run(["tc", "-batch", "-"], texts.shaping_command(end.interface, rate_bits))
        else:
            run(["tc", "qdisc", "delete", "dev", end.interface, "root"])


def _new_namespace(state: State, name: str) -> str:
    """For more switches, which ignore the machine's firewall as the lab's own do."""
    there = namespace(state.name, name)
    run(["ip", "netns", "add", there])
    with inside(there):
        for protocol in ("iptables", "ip6tables", "arptables"):
            configure_if_known(f"bridge/bridge-nf-call-{protocol}", "0")
    return there


def _bridge(name: str, ports: Sequence[str]) -> None:
    run(["ip", "link", "add", "name", name, "type", "bridge", *texts.BRIDGE_OPTIONS.split()])
    run(["ip", "link", "set", "dev", name, "up"])
    for port in ports:
        run(["ip", "link", "set", "dev", port, "master", name, "up"])


def _deaf(port: str) -> None:
    """Let a bridge learn nothing from a port, and send nothing there by default."""
    for setting in ("learning", "flood", "mcast_flood", "bcast_flood"):
        _port(port, setting, "off")


def _cable(name: str, peer: str, there: str) -> None:
    """From the present namespace to another."""
    ends = ["name", name, "type", "veth", "peer", "name", peer]
    run(["ip", "link", "add", *ends, "netns", there])


def _port(port: str, setting: str, value: str) -> None:
    run(["bridge", "link", "set", "dev", port, setting, value])


def _stations(port: str, addresses: Sequence[str]) -> None:
    for address in addresses:
        run(["bridge", "fdb", "replace", address, "dev", port, "master", "static"])


def _forget_ways(state: State) -> None:
    for element in wiring.switch_elements(state.topology):
        with inside(namespace(state.name, element)):
            run(["ip", "link", "set", "dev", BRIDGE, "type", "bridge", "fdb_flush"])


def _nothing() -> None:
    pass
