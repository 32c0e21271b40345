"""The delay box does what it says: times, rates, losses, order; and nothing of it is left."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np
import pytest

from labkit import delaybox
from labkit.errors import LabError
from labkit.fleeting import Namespace, namespaces
from labkit.wan import WanPath, box_text, wan_path
from support.lab import lab_cluster
from support.require import require_fping, require_root

pytestmark = [pytest.mark.lab, pytest.mark.timing]

MBIT = 1_000_000
ADDRESSES = ("10.82.0.1", "10.82.0.2")
MTU_FRAME_BYTES = 1514


@functools.cache
def program() -> Path:
    """The delay box, built once; it goes with this process."""
    folder = tempfile.TemporaryDirectory(prefix="plink-test-delaybox-")
    atexit.register(folder.cleanup)
    return delaybox.build(Path(folder.name))


@dataclass(frozen=True)
class Figures:
    """Of one way of a path, as the box counts them."""

    frames: int
    bytes: int
    lost: int
    overflowed: int
    greatest_lateness_us: int


@dataclass(frozen=True)
class Pair:
    """Two hosts with a box between them, in whose namespace its ports are."""

    cloud: Namespace
    hosts: tuple[Namespace, Namespace]
    box: subprocess.Popen[str]

    def figures(self) -> Figures:
        """Of the way from the first host to the second."""
        stdin, stdout = (cast("IO[str]", pipe) for pipe in (self.box.stdin, self.box.stdout))
        stdin.write("?\n")
        stdin.flush()
        first = stdout.readline().split()
        while stdout.readline().strip():
            pass
        return Figures(*map(int, first[2:]))

    def sockets(self, kind: int) -> tuple[socket.socket, socket.socket]:
        """One on each host; the second is bound to its address."""
        sender, receiver = (host.socket(socket.AF_INET, kind) for host in self.hosts)
        receiver.bind((ADDRESSES[1], 0))
        for each in (sender, receiver):
            each.settimeout(3.0)
        return sender, receiver


@contextlib.contextmanager
def pair(path: WanPath) -> Iterator[Pair]:
    with namespaces(3) as (cloud, *hosts):
        cloud.configure_if_known("bridge/bridge-nf-call-iptables", 0)
        cloud.configure("ipv6/conf/default/disable_ipv6", 1)
        for number, host in enumerate(hosts):
            host.configure("ipv6/conf/default/disable_ipv6", 1)
            cloud.batch(
                [
                    f"link add v{number} type veth peer name eth0 netns {host.pid}",
                    f"link add b{number} type bridge stp_state 0 mcast_snooping 0",
                    f"link set b{number} up",
                    f"link set v{number} master b{number} up",
                ]
            )
            host.batch([f"address add {ADDRESSES[number]}/24 dev eth0", "link set eth0 up"])
        text = box_text(["box0", "box1"], [path], 1, bound=True)
        box = delaybox.start(program(), text, cloud.command([]))
        try:
            cloud.batch([*delaybox.port_lines("box0", "b0"), *delaybox.port_lines("box1", "b1")])
            yield Pair(cloud, (hosts[0], hosts[1]), box)
        finally:
            box.communicate(timeout=100)


def round_trips_ms(host: Namespace, target: str, count: int = 40) -> list[float]:
    argv = host.command(["fping", "-q", "-C", count, "-p", 20, "-t", 1000, target])
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return [float(word) for word in done.stderr.partition(":")[2].split() if word != "-"]


@pytest.fixture(autouse=True)
def _root() -> None:
    require_root()


def test_a_round_trip_takes_what_was_asked() -> None:
    require_fping()
    with pair(wan_path((0, 1), rtt_ms=50.0)) as two:
        # The first one asks for the address, too.
        _, *took_ms = round_trips_ms(two.hosts[0], ADDRESSES[1])
    assert len(took_ms) == 39
    # Never less; and a few per cent more at best, whatever else keeps the cores.
    assert min(took_ms) >= 50.0
    assert min(took_ms) < 52.0


def test_jitter_spreads_times_evenly_above_the_delay() -> None:
    require_fping()
    with pair(wan_path((0, 1), rtt_ms=20.0, jitter_ms=10.0)) as two:
        _, *took_ms = round_trips_ms(two.hosts[0], ADDRESSES[1], 60)
    assert min(took_ms) >= 20.0
    # The sum of two even spreads of 10 ms each; what other work adds comes on top.
    assert np.quantile(took_ms, 0.1) < 29.0
    assert statistics.median(took_ms) > 27.0


@dataclass(frozen=True)
class Arrived:
    """What arrived of a stream: its rate in all, and in the best half second, in Mbit/s."""

    mean_mbit: float
    best_mbit: float


def stream(two: Pair, seconds: float) -> Arrived:
    """The payload that arrives by TCP once the stream has grown."""
    sender, listener = two.sockets(socket.SOCK_STREAM)
    with sender, listener:
        listener.listen(1)
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        sender.connect(listener.getsockname())
        receiver, _ = listener.accept()
        until = time.monotonic() + 0.5 + seconds

        def send() -> None:
            with contextlib.suppress(OSError):
                while time.monotonic() < until:
                    sender.sendall(bytes(65536))
            sender.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=send)
        thread.start()
        counts: list[tuple[float, int]] = []
        with receiver:
            while got := len(receiver.recv(1 << 18)):
                counts.append((time.monotonic(), got))
        thread.join()
    grown = [each for each in counts if each[0] > counts[0][0] + 0.5]
    whole_s = grown[-1][0] - grown[0][0]
    best = max(
        sum(got for when, got in grown if start < when <= start + 0.5) for start, _ in grown[::20]
    )
    return Arrived(8 * sum(got for _, got in grown[1:]) / whole_s / MBIT, 16 * best / MBIT)


def test_a_path_carries_its_rate() -> None:
    with pair(wan_path((0, 1), rtt_ms=20.0, rate_bits=50 * MBIT)) as two:
        arrived = stream(two, 1.5)
    # Of a frame of 1514 bytes 1448 are payload. A machine with other work may hold the box up.
    assert arrived.mean_mbit < 1.05 * 47.8
    assert arrived.best_mbit > 0.6 * 47.8


def test_a_box_without_a_rate_carries_far_more_than_labs_ask_of_it() -> None:
    with pair(wan_path((0, 1), rtt_ms=4.0)) as two:
        assert stream(two, 1.0).best_mbit > 100


def datagrams(two: Pair, count: int, pause_every: int = 50, requests: int = 0) -> list[int]:
    """Numbers of the datagrams that arrive of those sent, in the order in which they do.

    Args:
        requests: how often the receiver's address is asked for again, of three times at most.
    """
    sender, receiver = two.sockets(socket.SOCK_DGRAM)
    with sender, receiver:
        # The address is asked for before the first counted one.
        for number in range(4):
            if 0 < number <= requests:
                two.hosts[0].batch(["neighbor flush dev eth0"])
            sender.sendto(b"", receiver.getsockname())
            receiver.recv(10)
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        receiver.settimeout(10.0)
        is_over = threading.Event()

        def send() -> None:
            for number in range(count):
                sender.sendto(number.to_bytes(4, "big"), receiver.getsockname())
                if number % pause_every == 0:
                    time.sleep(0.002)
            # One end of many, any of which may be lost, comes after all that arrive.
            sender.sendto(b"", receiver.getsockname())
            while not is_over.wait(0.05):
                sender.sendto(b"", receiver.getsockname())

        thread = threading.Thread(target=send)
        thread.start()
        arrived: list[int] = []
        try:
            while datagram := receiver.recv(10):
                arrived.append(int.from_bytes(datagram, "big"))
        finally:
            is_over.set()
            thread.join()
    return arrived


def test_frames_are_lost_at_the_rate_asked_and_the_seed_says_which() -> None:
    count, loss = 10_000, 0.02
    arrived: list[list[int]] = []
    # Requests for addresses come and go as the kernel likes, and change nothing.
    for requests in (0, 3):
        with pair(wan_path((0, 1), rtt_ms=2.0, loss=loss)) as two:
            arrived.append(datagrams(two, count, requests=requests))
            figures = two.figures()
        lost = count - len(arrived[-1])
        # Five standard deviations of a binomial: 70 of 200.
        assert abs(lost - count * loss) < 5 * (count * loss * (1 - loss)) ** 0.5
        # One that says that all were sent may be lost, too.
        assert 0 <= figures.lost - lost <= 5
        assert figures.overflowed == 0
    assert arrived[0] == arrived[1]


def test_frames_keep_their_order_in_spite_of_jitter() -> None:
    with pair(wan_path((0, 1), rtt_ms=10.0, jitter_ms=5.0)) as two:
        arrived = datagrams(two, 5_000)
    assert arrived == list(range(5_000))


def test_what_a_queue_has_no_room_for_is_dropped() -> None:
    path = wan_path((0, 1), rtt_ms=10.0, rate_bits=MBIT, queue_bytes=64 * 1024)
    with pair(path) as two:
        sender, receiver = two.sockets(socket.SOCK_DGRAM)
        with sender, receiver:
            sender.sendto(b"", receiver.getsockname())
            receiver.recv(10)
            for _ in range(200):
                sender.sendto(bytes(MTU_FRAME_BYTES - 42), receiver.getsockname())
            time.sleep(0.2)
        figures = two.figures()
    # 64 KB are 43 frames; a few more go while they are sent.
    assert 43 <= 200 - figures.overflowed <= 60


def test_the_box_ends_with_its_input_and_its_devices_with_it() -> None:
    with namespaces(1) as (cloud,):
        text = box_text(["box0", "box1"], [wan_path((0, 1), rtt_ms=1.0)], 1, bound=True)
        box = delaybox.start(program(), text, cloud.command([]))
        assert {link["ifname"] for link in json.loads(cloud.run("ip -j link"))} == {
            *("lo", "box0", "box1"),
        }
        box.communicate(timeout=100)
        assert box.returncode == 0
        assert {link["ifname"] for link in json.loads(cloud.run("ip -j link"))} == {"lo"}


def test_what_is_no_path_is_refused() -> None:
    with namespaces(1) as (cloud,):
        for line in ("path 0 7 1 0 0 0 0", "path 0", "port", "nonsense"):
            with pytest.raises(LabError, match="not understood"):
                delaybox.start(program(), f"port box0\n{line}\ngo\n", cloud.command([]))


def test_a_lab_of_regions(tmp_path: Path) -> None:
    require_fping()
    shape = {
        "regions": [2, 1, 1],
        "rtt_ms": 40,
        "host_rate": "none",
        "paths": [{"between": [1, 3], "rtt_ms": 80}],
    }
    (tmp_path / "wan.json").write_text(json.dumps(shape))
    with lab_cluster(topology=tmp_path / "wan.json") as lab:
        one, mate = lab.racks["r1"]
        second, third = lab.racks["r2"][0], lab.racks["r3"][0]
        argv = ["fping", "-q", "-C", "11", "-p", "20", "-t", "1000", mate, second, third]
        said = lab.exec(one, argv, check=False).stderr
        took_ms = {
            line.partition(":")[0].strip(): statistics.median(
                float(word) for word in line.partition(":")[2].split() if word != "-"
            )
            for line in said.splitlines()
            if ":" in line
        }
        assert took_ms[mate] < 20
        assert 40 <= took_ms[second] < 60
        assert 80 <= took_ms[third] < 100
        argv = ["ssh", "-F", str(lab.ssh_config), "-o", "BatchMode=yes", third, "hostname"]
        assert lab.exec(".", argv).stdout.strip() == third
        assert [path["rtt_ms"] for path in lab.truth["wan"]] == [40, 80, 40]
        name = lab.name
    assert not list(Path("/run/netns").glob(f"plink.{name}.*"))
