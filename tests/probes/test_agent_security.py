"""What the echo agent must not be able to do, and what nobody must learn from it."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plink.probes.echo import coordinator
from support import echo_packet
from support.jobs import echo_job
from support.local_hosts import AGENT, SECRET, ListSink, local_hosts, start_agent
from support.pairs import all_pairs

SOURCES = Path(__file__).resolve().parents[2] / "probes" / "echo" / "agent"
ADDRESS = "127.0.3.1"
OPENING = f"run 1 5 400 free {SECRET}\npercentiles 10\nbind {ADDRESS} 0\n"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has privileges to give up")


class Agent:
    """An agent that has opened its port."""

    def __init__(self, argv: list[str] | None = None, opening: str = OPENING) -> None:
        self.process = start_agent(argv)
        self.said = self.ask(opening)

    def ask(self, text: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()
        return self.process.stdout.readline()

    @property
    def port(self) -> int:
        return int(self.said.removeprefix("bound "))

    def status(self) -> dict[str, str]:
        """/proc/PID/status, once the agent has answered and so is past its opening."""
        assert self.ask("alive\n") == "alive\n"
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)

    def close(self) -> None:
        self.process.kill()
        with self.process:
            pass


@contextlib.contextmanager
def running(argv: list[str] | None = None, opening: str = OPENING) -> Iterator[Agent]:
    with contextlib.closing(Agent(argv, opening)) as agent:
        yield agent


def no_capabilities(status: dict[str, str]) -> bool:
    return all(int(status[f"Cap{kind}"], 16) == 0 for kind in ("Inh", "Prm", "Eff", "Amb"))


@as_root
def test_an_agent_of_root_becomes_nobody() -> None:
    with running() as agent:
        status = agent.status()
        assert status["Uid"].split() == status["Gid"].split() == ["65534"] * 4
        assert status["Groups"].split() == []
        assert no_capabilities(status)
        assert status["NoNewPrivs"] == "1"


def test_root_of_a_user_namespace_without_nobody_keeps_no_capability() -> None:
    argv = ["unshare", "--user", "--map-root-user", str(AGENT)]
    if subprocess.run([*argv[:3], "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    with running(argv) as agent:
        status = agent.status()
        assert status["Uid"].split() == [str(os.geteuid())] * 4
        assert no_capabilities(status)
        assert status["NoNewPrivs"] == "1"


@as_root
def test_an_agent_of_an_ordinary_user_stays_that_user(tmp_path: Path) -> None:
    program = Path(shutil.copy(AGENT, tmp_path))
    for folder in [tmp_path, *tmp_path.parents][:3]:
        folder.chmod(0o755)
    with running(["setpriv", "--reuid=1234", "--clear-groups", str(program)]) as agent:
        status = agent.status()
        assert status["Uid"].split() == ["1234"] * 4
        assert no_capabilities(status)
        assert status["NoNewPrivs"] == "1"


def test_nobody_else_reads_its_memory_and_it_starts_nothing() -> None:
    with running() as agent:
        agent.status()
        # The kernel gives the files of a process that is not dumpable to root.
        assert Path(f"/proc/{agent.process.pid}/environ").stat().st_uid == 0
        limits = Path(f"/proc/{agent.process.pid}/limits").read_text().splitlines()
        (processes,) = (line for line in limits if line.startswith("Max processes"))
        assert processes.split()[2:4] == ["0", "0"]


def test_a_dropped_agent_still_moves_to_a_processor_and_ends() -> None:
    allowed = os.sched_getaffinity(0)
    with running(opening=OPENING.replace("free", "granted")) as agent:
        schedule = "".join(f"pair {processor} 0 probe\n" for processor in allowed)
        agent.ask(f"peer 0 127.0.3.2 9\n{schedule}start\nalive\n")
        for processor in allowed:
            assert agent.ask(f"go {processor} {processor}\n") == f"lost {processor} 0 silent\n"
            assert os.sched_getaffinity(agent.process.pid) == {processor}
            agent.ask("")
        # A meeting on any processor is not held where the last one happened to be.
        agent.ask("again 2000 0 probe any\n")
        assert os.sched_getaffinity(agent.process.pid) == allowed
        agent.process.terminate()
        assert agent.process.wait(10) == -15


def test_it_binds_only_the_address_that_it_was_told() -> None:
    hello = echo_packet.seal(SECRET, echo_packet.HELLO, 1, (0, 1), 0)
    with running() as agent, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.3.2", 0))
        port = peer.getsockname()[1]
        agent.ask(f"peer 0 127.0.3.2 {port}\npair 1 0 probe\nstart\nalive\n")
        sockets = Path(f"/proc/{agent.process.pid}/net/udp").read_text()
        assert f" 0103007F:{agent.port:04X} " in sockets
        assert f" 00000000:{agent.port:04X} " not in sockets
        peer.sendto(hello, ("127.0.3.3", agent.port))
        assert replies(peer) == []
        peer.sendto(hello, (ADDRESS, agent.port))
        assert echo_packet.fields(replies(peer)[0])[0] == echo_packet.READY


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_it_does_not_bind_all_addresses(address: str) -> None:
    agent = start_agent()
    opening = OPENING.replace(ADDRESS, address)
    _, complaint = agent.communicate(opening, timeout=100)
    assert (agent.returncode, complaint) == (2, "does not understand bind\n")


def test_a_broken_line_does_not_repeat_the_secret() -> None:
    agent = start_agent()
    said, complaint = agent.communicate(f"run 1 5 400 fast {SECRET}\n", timeout=100)
    assert (said, complaint) == ("", "does not understand run\n")


def test_the_secret_stands_in_no_command_line_environment_or_file() -> None:
    with running() as agent:
        agent.status()
        folder = Path(f"/proc/{agent.process.pid}")
        assert (folder / "cmdline").read_bytes() == bytes(AGENT) + b"\0"
        if os.geteuid() == 0:
            assert SECRET.encode() not in (folder / "environ").read_bytes()
            kinds = {str(path.readlink()).split(":")[0] for path in (folder / "fd").iterdir()}
            assert kinds - {str(folder / "schedstat")} == {"pipe", "socket"}


@pytest.mark.parametrize(
    "flood",
    [
        "go 0 0\n" * 140_000,
        "percentiles 10\n" * 20,
        "percentiles " + "10 " * 20 + "\n",
        "x" * 10_000,
        "".join(f"pair {i} 0 probe\n" for i in range(140_000)),
        "run 2 5 400 free " + SECRET + "\n",
        f"bind {ADDRESS} 0\n",
        "pair 0 1 probe\n",
    ],
    ids=["grants", "percentiles", "many", "long", "pairs", "again", "bind", "itself"],
)
@pytest.mark.parametrize("has_start", [False, True])
def test_what_a_coordinator_never_says_ends_it_small(flood: str, has_start: bool) -> None:
    agent = start_agent()
    # Busy with a partner that is silent, it cannot work off what it is told meanwhile.
    schedule = f"peer 0 127.0.3.2 9\npeer 1 {ADDRESS} 9\npair 0 0 probe\n" + "start\n" * has_start
    _, complaint = agent.communicate(
        OPENING.replace(" 400 ", " 60000 ") + schedule + flood, timeout=100
    )
    assert agent.returncode == 2
    assert complaint.startswith("does not understand ")


def test_its_memory_has_a_bound() -> None:
    peers = "".join(f"peer {i} 127.0.3.2 9\n" for i in range(0, 65536, 16))
    pairs = "".join(f"pair {i} 0 probe\n" for i in range(0, 131_000, 8))
    with running() as agent:
        assert agent.ask(peers * 4 + pairs + "alive\n") == "alive\n"
        size_kb = int(agent.status()["VmHWM"].split()[0])
    assert size_kb < 32 << 10


def compiled(folder: Path, silence_s: int) -> list[str]:
    """An agent that waits another time for its coordinator."""
    program = str(folder / "agent")
    # As one file, whose headers are read once.
    whole = folder / "agent.cpp"
    whole.write_text("".join(f'#include "{path}"\n' for path in sorted(SOURCES.glob("*.cpp"))))
    silence = f"-DPLINK_COORDINATOR_SILENCE_S={silence_s}"
    subprocess.run(["g++", "-std=c++17", "-O0", silence, "-o", program, whole], check=True)
    return [program]


def ended_within(process: subprocess.Popen[str], seconds: float) -> int | None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(seconds)
    return None


SILENCE_S = 3


def talk_beside_silent_coordinators(argv: list[str]) -> tuple[bool, float]:
    """Speak to an agent without a pause until two agents to which nobody speaks have ended.

    Returns:
        Whether the agent has answered every time, and the longest time in seconds in which it may
        have read nothing.
    """
    with running(argv) as idle, running(argv) as never_read:
        assert never_read.process.stdin is not None
        # More than a pipe holds of answers, and no more than two pipes hold of questions.
        never_read.process.stdin.write("alive\n" * 20_000)
        never_read.process.stdin.flush()
        asked_s, longest_s = time.monotonic(), 0.0
        with running(argv) as spoken_to:
            has_answered = spoken_to.said.startswith("bound ")
            silent = [idle.process, never_read.process]
            while has_answered and any(ended_within(each, 0.1) is None for each in silent):
                before_s, asked_s = asked_s, time.monotonic()
                try:
                    has_answered = spoken_to.ask("alive\n") == "alive\n"
                except BrokenPipeError:
                    has_answered = False
                longest_s = max(longest_s, time.monotonic() - before_s)
            return has_answered, longest_s


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_it_ends_when_the_coordinator_falls_silent(tmp_path: Path) -> None:
    argv = compiled(tmp_path, SILENCE_S)
    has_answered, longest_s = talk_beside_silent_coordinators(argv)
    # Where this test itself was held up for so long, the agent was right to end.
    while not has_answered and longest_s >= SILENCE_S:
        has_answered, longest_s = talk_beside_silent_coordinators(argv)
    assert has_answered


def replies(peer: socket.socket, seconds: float = 0.3) -> list[bytes]:
    """What comes but the agent's own repeated knocks."""
    packets, deadline = [], time.monotonic() + seconds
    while (left_s := deadline - time.monotonic()) > 0:
        peer.settimeout(left_s)
        with contextlib.suppress(TimeoutError):
            packet = peer.recv(2048)
            if echo_packet.fields(packet)[0] != echo_packet.KNOCK:
                packets.append(packet)
    return packets


@pytest.fixture
def peer() -> Iterator[tuple[socket.socket, Callable[[bytes], None]]]:
    """The socket of host 0, and how it sends to an agent that has met it in round 5."""
    with running() as agent, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.3.2", 0))
        port = peer.getsockname()[1]
        agent.ask(f"peer 0 127.0.3.2 {port}\npair 5 0 probe\npair 9 0 probe\nstart\nalive\n")
        yield peer, lambda packet: void(peer.sendto(packet, (ADDRESS, agent.port)))


def void(_: object) -> None:
    """For an expression that has nothing to say."""


def test_a_replayed_packet_of_an_earlier_round_changes_nothing(
    peer: tuple[socket.socket, Callable[[bytes], None]],
) -> None:
    there, send = peer
    seen = [
        echo_packet.seal(SECRET, message, 4, (0, 1), 7)
        for message in range(1, 11)
        if message not in (echo_packet.PROBE, echo_packet.OVER)
    ]
    for packet in seen * 3:
        send(packet)
    assert replies(there) == []
    # Only these two are answered in every round, each by one packet of the same size to the host
    # that is named in it.
    for message, answer in (
        (echo_packet.PROBE, echo_packet.ECHO),
        (echo_packet.OVER, echo_packet.BYE),
    ):
        send(packet := echo_packet.seal(SECRET, message, 4, (0, 1), 7))
        (reply,) = replies(there)
        assert echo_packet.fields(reply) == (answer, 4, 1, 0, 7)
        assert len(reply) == len(packet)


def test_a_packet_of_an_earlier_run_gets_no_answer(
    peer: tuple[socket.socket, Callable[[bytes], None]],
) -> None:
    there, send = peer
    for message in range(1, 11):
        send(echo_packet.seal("11" * 16, message, 5, (0, 1), 0))
    assert replies(there) == []


def test_its_own_packets_sent_back_get_no_answer(
    peer: tuple[socket.socket, Callable[[bytes], None]],
) -> None:
    there, send = peer
    there.settimeout(5)
    for _ in range(3):
        send(there.recv(2048))
    for message in range(1, 11):
        send(echo_packet.seal(SECRET, message, 5, (1, 0), 0))
    assert replies(there) == []


@pytest.mark.parametrize("message", range(1, 11))
def test_no_packet_has_more_than_one_answer_or_a_larger_one(
    peer: tuple[socket.socket, Callable[[bytes], None]], message: int
) -> None:
    there, send = peer
    for number in (4, 5, 9):
        send(packet := echo_packet.seal(SECRET, message, number, (0, 1), 3))
        assert sum(map(len, replies(there, 0.1))) <= len(packet)


def test_every_run_has_a_secret_of_its_own_that_only_its_agents_hear() -> None:
    secrets: list[set[str]] = []
    for _ in range(2):
        hosts, sink = local_hosts(3), ListSink()
        heard: list[str] = []
        for host in hosts:
            session: Any = host.session
            session.rewrite = lambda text, heard=heard: heard.append(text) or text
        coordinator.measure(echo_job(hosts, 1, count=5), sink)
        assert sink.measured() == all_pairs(3)
        openings = [text for text in heard if text.startswith("run ")]
        assert len(openings) == 3
        secrets.append({text.splitlines()[0].split()[-1] for text in openings})
        (secret,) = secrets[-1]
        assert len(secret) == 32
        assert sum(secret in text for text in heard) == 3
    assert secrets[0] != secrets[1]
