"""One real DPDK agent in a namespace, spoken to as coordinator and as a peer."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Sequence

from labkit.fleeting import Namespace
from plink.probes.dpdk.tool import AGENT_FILE
from support import echo_packet
from support.local_hosts import SECRET

START_WITHIN_S = 30.0
ANSWER_WITHIN_S = 10.0
RESEND_EVERY_S = 0.05
_IP_FREEBIND = 15


def start_agent(
    where: Namespace, arguments: Sequence[str] = (), prefix: Sequence[str] = ()
) -> subprocess.Popen[str]:
    """An agent that ends with its standard input, hence with this process.

    `prefix` is the start of a command line that runs the rest of it.
    """
    pipe = subprocess.PIPE
    argv = where.command([*prefix, AGENT_FILE, *arguments])
    return subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def opening(address: str, port: int = 0, silence_ms: int = 400) -> str:
    """What a coordinator says first to host 1."""
    return f"run 1 20 {silence_ms} granted {SECRET}\npercentiles 10\nbind {address} {port}\n"


def complaint_of(agent: subprocess.Popen[str], text: str) -> str:
    """What an agent that cannot work says in one line; it must end, and print nothing else."""
    assert agent.stdin is not None
    agent.stdin.write(text)
    agent.stdin.flush()
    status = agent.wait(START_WITHIN_S)
    said, complaint = agent.communicate()
    assert status == 1, (said, complaint)
    assert said == ""
    assert len(complaint.splitlines()) == 1, complaint
    return complaint.strip()


class DpdkPeer:
    """The test as host 0, on `here`, of a run in which the agent is host 1, on `there`.

    `on_open` is called when the agent's interface is open.
    """

    def __init__(
        self,
        here: Namespace,
        address: str,
        there: Namespace,
        agent_address: str,
        arguments: Sequence[str] = (),
        *,
        on_open: Callable[[], None] = lambda: None,
    ) -> None:
        self.family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.socket = here.socket(self.family, socket.SOCK_DGRAM)
        # The address may come with the agent's interface.
        self.socket.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
        self.socket.bind((address, 0))
        self.socket.settimeout(RESEND_EVERY_S)
        self.address, self.agent_address = address, agent_address
        self.agent = start_agent(there, arguments)
        try:
            self.say(opening(agent_address))
            self.port = int(self.hear().removeprefix("bound "))
            on_open()
            self.say(
                f"peer 0 {address} {self.socket.getsockname()[1]}\n"
                f"peer 1 {agent_address} {self.port}\npair 5 0 probe\nstart\nalive\n"
            )
            assert self.hear() == "alive"
            # From here on both sides know the way.
            self.exchange(echo_packet.PROBE, echo_packet.ECHO)
        except BaseException:
            self.close()
            raise

    def say(self, text: str) -> None:
        assert self.agent.stdin is not None
        self.agent.stdin.write(text)
        self.agent.stdin.flush()

    def hear(self) -> str:
        assert self.agent.stdout is not None
        line = self.agent.stdout.readline().strip()
        assert line, self.agent.communicate()
        return line

    def send(self, message: int, sequence: int = 0) -> None:
        packet = echo_packet.seal(SECRET, message, 5, (0, 1), sequence)
        self.socket.sendto(packet, (self.agent_address, self.port))

    def exchange(self, message: int, answer: int, sequence: int = 0) -> bytes:
        """Send until the answer is there: the first go while a next hop is looked for."""
        deadline = time.monotonic() + ANSWER_WITHIN_S
        send_at = 0.0
        while (now := time.monotonic()) < deadline:
            if now >= send_at:
                self.send(message, sequence)
                send_at = now + RESEND_EVERY_S
            try:
                packet = self.socket.recv(2048)
            except TimeoutError:
                continue
            # What only makes the kernel look for a next hop is empty.
            if packet and echo_packet.fields(packet)[0::4] == (answer, sequence):
                return packet
        raise AssertionError(f"no message {answer}")

    def close(self) -> None:
        self.agent.kill()
        with self.agent:
            pass
        self.socket.close()
