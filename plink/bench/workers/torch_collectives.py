"""One rank of a bench of PyTorch, with Gloo or NCCL. It is sent to a host over SSH and needs torch
there, but not plink.

Standard input carries one JSON object a line, each a command; each is answered by one JSON object
on standard output. When standard input ends, or stays silent for too long, the process ends.
"""

from __future__ import annotations

import array
import datetime
import fcntl
import importlib
import json
import os
import queue
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

SIOCGIFCONF = 0x8912
IFREQ_BYTES = 40
VALUE_PERIOD = 1009
# Buffers are filled and checked in parts of so many elements, so that one copy of them is enough.
PART_ELEMENTS = 1024 * VALUE_PERIOD

# Gloo's own timeouts come first where they work.
WATCHDOG_MARGIN_S = 2.0


def main() -> None:
    """Answer commands until standard input ends."""
    serve(lambda command, watchdog, _: RANKS[command["library"]](watchdog, command))


def serve(make_rank: Callable[[dict[str, Any], Watchdog, Channel], Any]) -> None:
    """Answer commands until standard input ends; the first makes what answers the rest."""
    channel = Channel()
    watchdog = Watchdog(channel)
    rank: Any = None
    while True:
        command = channel.next()
        try:
            if command["do"] == "start":
                watchdog.idle_limit_s = command["idle_limit_s"]
                rank = make_rank(command, watchdog, channel)
            if rank is None:
                raise RuntimeError("the first command must be 'start'")
            reply = getattr(rank, command["do"])(command)
        except Exception as error:
            reply = {"event": "failed", "reason": f"{type(error).__name__}: {error}"}
            # An engine's error names the rank to blame.
            reply["rank"] = getattr(error, "rank", None)
        watchdog.rest()
        channel.tell(reply)


class Channel:
    """Commands from standard input, answers to standard output, a JSON object a line."""

    def __init__(self) -> None:
        # Protocol lines keep the real standard output; whatever libraries print goes to stderr.
        self.output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
        os.dup2(2, 1)
        self.commands: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def next(self, timeout_s: float | None = None) -> dict[str, Any]:
        """Return the next command. Raises `queue.Empty` where none came in time."""
        return self.commands.get(timeout=timeout_s)

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message."""
        print(json.dumps(message), file=self.output, flush=True)

    def read(self) -> None:
        """Queue the commands; end the process with its standard input, whatever it is doing."""
        try:
            for line in sys.stdin.buffer:
                self.commands.put(json.loads(line))
        finally:
            # A collective that waits for a lost peer cannot be interrupted in any gentler way.
            os._exit(0)


class Watchdog:
    """Ends the process when a step takes too long: Gloo waits on for a peer that fell silent."""

    def __init__(self, channel: Channel) -> None:
        self.idle_limit_s = 600.0
        self.channel = channel
        self.step = "waiting for a command"
        self.limit_s = self.idle_limit_s
        self.deadline = time.monotonic() + self.limit_s
        threading.Thread(target=self.watch, daemon=True).start()

    def begin(self, step: str, limit_s: float) -> None:
        """A step begins, and the one before has ended."""
        self.deadline = time.monotonic() + limit_s + WATCHDOG_MARGIN_S
        self.step, self.limit_s = step, limit_s

    def rest(self) -> None:
        """Wait between steps; the next command is due within the idle limit."""
        self.begin("waiting for a command", self.idle_limit_s)

    def watch(self) -> None:
        """Look twice a second, for ever."""
        while time.monotonic() < self.deadline:
            time.sleep(0.5)
        reason = f"{self.step} took longer than {self.limit_s:g} s"
        self.channel.tell({"event": "failed", "reason": reason})
        os._exit(1)


class Rank:
    """Rank in one process group after another; its methods are the commands."""

    backend = "gloo"
    device = "cpu"

    def __init__(self, watchdog: Watchdog, command: dict[str, Any]) -> None:
        self.address = command["address"]
        self.watchdog = watchdog
        self.set_environment(interface_of(self.address), command)
        # Seconds of CPU: late, so that the end of standard input also ends a start.
        self.torch: Any = importlib.import_module("torch")
        self.dist: Any = importlib.import_module("torch.distributed")
        self.torch.set_num_threads(1)
        self.store: Any = None

    def set_environment(self, interface: str, command: dict[str, Any]) -> None:  # noqa: ARG002
        """Say which interface carries the traffic, before the library is there."""
        os.environ["GLOO_SOCKET_IFNAME"] = interface

    def settle(self) -> None:
        """Wait until what was begun on the buffer has ended."""

    def start(self, command: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Say what runs here."""
        return {"event": "started", "torch": self.torch.__version__}

    def wait(self, command: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Sit out a launch; the next command is due later."""
        return {"event": "waiting"}

    def serve(self, command: dict[str, Any]) -> dict[str, Any]:
        """Open the store in which the ranks meet, on a free port; rank 0 does this."""
        self.store = self.dist.TCPStore(
            self.address,
            0,
            command["world_size"],
            is_master=True,
            wait_for_workers=False,
            timeout=datetime.timedelta(seconds=command["timeout_s"]),
        )
        return {"event": "serving", "port": self.store.port}

    def join(self, command: dict[str, Any]) -> dict[str, Any]:
        """Become one rank of a new process group."""
        self.watchdog.begin("joining the process group", command["timeout_s"])
        timeout = datetime.timedelta(seconds=command["timeout_s"])
        if self.store is None:
            self.store = self.dist.TCPStore(
                command["master_address"],
                command["master_port"],
                command["world_size"],
                is_master=False,
                wait_for_workers=False,
                timeout=timeout,
            )
        self.dist.init_process_group(
            self.backend,
            store=self.store,
            rank=command["rank"],
            world_size=command["world_size"],
            timeout=timeout,
        )
        return {"event": "joined"}

    def measure(self, command: dict[str, Any]) -> dict[str, Any]:
        """Time a collective; count the elements that are not as they should be."""
        torch, dist = self.torch, self.dist
        # Runs of values begin anywhere in a period.
        pattern = torch.arange(PART_ELEMENTS + VALUE_PERIOD, device=self.device)
        pattern = pattern.remainder_(VALUE_PERIOD).to(torch.float32)
        source = torch.zeros(command["input_elements"], dtype=torch.float32, device=self.device)
        result = source
        if command["output_elements"] is not None:
            result = source.new_zeros(command["output_elements"])
        run = OPERATIONS[command["collective"]]
        seconds, cpu_s, wrong = [], [], 0
        for repetition in range(command["warmups"] + command["repetitions"]):
            self.watchdog.begin(f"one {command['collective']}", command["timeout_s"])
            # What is not written may not look like a result of before.
            result.zero_()
            for part, values in parts(source, command["before"], pattern):
                part.copy_(values)
            dist.barrier()
            self.settle()
            cpu_begin = time.process_time()
            begin = time.perf_counter()
            run(dist, source, result)
            self.settle()
            end = time.perf_counter()
            cpu_end = time.process_time()
            for part, values in parts(result, command["after"], pattern):
                wrong += int(torch.count_nonzero(part != values))
            if repetition >= command["warmups"]:
                seconds.append(end - begin)
                cpu_s.append(cpu_end - cpu_begin)
        return {"event": "measured", "seconds": seconds, "cpu_s": cpu_s, "wrong_elements": wrong}

    def leave(self, command: dict[str, Any]) -> dict[str, Any]:
        """Leave the process group and the store."""
        self.watchdog.begin("leaving the process group", command["timeout_s"])
        self.dist.destroy_process_group()
        self.store = None
        return {"event": "left"}


class NcclRank(Rank):
    """The same with NCCL, on one of the host's GPUs."""

    backend = "nccl"

    def set_environment(self, interface: str, command: dict[str, Any]) -> None:
        """Say which interface carries the traffic, and which algorithm runs."""
        # Without `=` in front, eth1 would mean eth10 too.
        os.environ["NCCL_SOCKET_IFNAME"] = f"={interface}"
        if ":" in self.address:
            os.environ["NCCL_SOCKET_FAMILY"] = "AF_INET6"
        os.environ["NCCL_ALGO"] = command["nccl_algo"]

    def start(self, command: dict[str, Any]) -> dict[str, Any]:
        """Take a GPU and say what runs here.

        Raises:
            RuntimeError: there is none, or this PyTorch cannot use it.
        """
        gpu, cuda = command["gpu"], self.torch.cuda
        if not self.dist.is_available() or not self.dist.is_nccl_available():
            raise RuntimeError("PyTorch has no NCCL")
        if not cuda.is_available():
            raise RuntimeError("PyTorch sees no GPU")
        if gpu >= cuda.device_count():
            raise RuntimeError(f"PyTorch sees too few GPUs: {cuda.device_count()}")
        cuda.set_device(gpu)
        self.device = f"cuda:{gpu}"
        version = ".".join(map(str, cuda.nccl.version()))
        return {**super().start(command), "nccl": version, "gpu": cuda.get_device_name(gpu)}

    def settle(self) -> None:
        """Wait for the GPU."""
        self.torch.cuda.synchronize()


RANKS = {"gloo": Rank, "nccl": NcclRank}


def parts(buffer: Any, runs: list[dict[str, int]], pattern: Any) -> Iterator[tuple[Any, Any]]:
    """The runs of a buffer, of numpy or torch, piece by piece, and the values that belong there.

    Args:
        runs: as `plink.bench.clients.buffers.Run` has them.
        pattern: (`PART_ELEMENTS` + `VALUE_PERIOD`,) its place modulo `VALUE_PERIOD`.
    """
    for run in runs:
        phase = run["first"] % VALUE_PERIOD
        for begin in range(0, run["count"], PART_ELEMENTS):
            count = min(PART_ELEMENTS, run["count"] - begin)
            place = run["begin"] + begin
            values = pattern[phase : phase + count] * run["times"] + run["plus"]
            yield buffer[place : place + count], values


def of_root(dist: Any, buffer: Any) -> list[Any] | None:
    """Return the parts of all ranks where this is rank 0."""
    return list(buffer.chunk(dist.get_world_size())) if dist.get_rank() == 0 else None


def send_receive(dist: Any, source: Any, result: Any) -> None:
    """Send to the next rank, and receive from the one before."""
    rank, size = dist.get_rank(), dist.get_world_size()
    both = [
        dist.P2POp(dist.isend, source, (rank + 1) % size),
        dist.P2POp(dist.irecv, result, (rank - 1) % size),
    ]
    for work in dist.batch_isend_irecv(both):
        work.wait()


OPERATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "all-reduce": lambda dist, source, _: dist.all_reduce(source),
    "reduce-scatter": lambda dist, source, result: dist.reduce_scatter_tensor(result, source),
    "all-gather": lambda dist, source, result: dist.all_gather_into_tensor(result, source),
    "broadcast": lambda dist, source, _: dist.broadcast(source, 0),
    "reduce": lambda dist, source, _: dist.reduce(source, 0),
    "gather": lambda dist, source, result: dist.gather(source, of_root(dist, result)),
    "scatter": lambda dist, source, result: dist.scatter(result, of_root(dist, source)),
    "all-to-all": lambda dist, source, result: dist.all_to_all_single(result, source),
    "barrier": lambda dist, _source, _result: dist.barrier(),
    "send-receive": send_receive,
}


def interface_of(address: str) -> str:
    """Return the name of the local network interface that bears `address`.

    Raises:
        OSError: no interface bears it.
    """
    names = ipv6_interfaces() if ":" in address else ipv4_interfaces()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    name = names.get(socket.inet_pton(family, address))
    if name is None:
        raise OSError(f"no network interface here has the address {address}")
    return name


def ipv4_interfaces() -> dict[bytes, str]:
    """Return the IPv4 addresses of this host, packed, and their interfaces (netdevice(7))."""
    buffer = array.array("B", bytes(IFREQ_BYTES * 1024))
    place, length = buffer.buffer_info()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        reply = fcntl.ioctl(control, SIOCGIFCONF, struct.pack("iP", length, place))
    used = struct.unpack("iP", reply)[0]
    raw = buffer.tobytes()
    names = {}
    for at in range(0, used, IFREQ_BYTES):
        # struct ifreq: 16 bytes of name, then a sockaddr_in whose address starts at byte 4.
        # A second address of eth0 may stand under the label eth0:1.
        label = raw[at : at + 16].split(b"\0")[0].decode()
        names[raw[at + 20 : at + 24]] = label.split(":")[0]
    return names


def ipv6_interfaces() -> dict[bytes, str]:
    """Return the IPv6 addresses of this host, packed, and their interfaces."""
    with open("/proc/net/if_inet6", encoding="ascii") as table:  # noqa: PTH123
        rows = [line.split() for line in table]
    return {bytes.fromhex(row[0]): row[5] for row in rows}


if __name__ == "__main__":
    main()
