"""One real agent on loopback, spoken to as coordinator and as a peer."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from support import echo_packet
from support.local_hosts import SECRET, start_agent

pytestmark = pytest.mark.timing

ADDRESS = "127.0.2.1"
PEER = "127.0.2.2"

# The limit of what comes at once where nothing is wrong and the machine is not busy.
LIMIT_S = 30.0
# The silence in tests that wait for the agent to give a partner up, and must speak to it before.
SHORT_SILENCE_MS = 2000
# A test that did not speak for this share of the silence was held up. The agent waits for twice as
# long, even for a suspect.
HELD_UP_SHARE = 1 / 8
# The longest time for which a test is repeated, well within pytest's limit.
REPEAT_WITHIN_S = 60.0
# Meetings in which every echo must arrive in time once.
MOST_MEETINGS = 10


class Peer:
    """The test as host 0 of a run in which the agent is host 1."""

    def __init__(
        self,
        pace: str = "free",
        count: int = 50,
        silence_ms: int = 10_000,
    ) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((PEER, 0))
        self.socket.settimeout(LIMIT_S)
        self.silence_s = silence_ms / 1000
        # The longest time in which the agent heard nothing from this peer before it spoke again.
        self.longest_gap_s = 0.0
        self.agent = start_agent()
        self.say(
            f"run 1 {count} {silence_ms} {pace} {SECRET}\npercentiles 10 0 100\nbind {ADDRESS} 0"
        )
        self.port = int(self.hear().removeprefix("bound "))
        port = self.socket.getsockname()[1]
        self.begin_gap()
        self.say(
            f"peer 0 {PEER} {port}\npeer 1 {ADDRESS} {self.port}\npair 5 0 probe\nstart\nalive"
        )
        assert self.hear() == "alive"

    def say(self, text: str) -> None:
        assert self.agent.stdin is not None
        self.agent.stdin.write(text + "\n")
        self.agent.stdin.flush()

    def hear(self) -> str:
        assert self.agent.stdout is not None
        return self.agent.stdout.readline().strip()

    def check_alive(self) -> None:
        """Demand an answer of the agent, which must come before any result."""
        self.say("alive")
        assert self.hear() == "alive"

    def send(self, message: int, number: int = 5, sequence: int = 0) -> bytes:
        packet = echo_packet.seal(SECRET, message, number, (0, 1), sequence)
        send_began_s = time.monotonic()
        self.socket.sendto(packet, (ADDRESS, self.port))
        self.end_gap()
        self.begin_gap(send_began_s)
        return packet

    def begin_gap(self, now_s: float | None = None) -> None:
        """Measure from now on, or from `now_s`, for how long the agent hears nothing."""
        self._gap_began_s = time.monotonic() if now_s is None else now_s

    def end_gap(self) -> None:
        """Remember for how long the agent has heard nothing, if that is the longest time yet."""
        self.longest_gap_s = max(self.longest_gap_s, time.monotonic() - self._gap_began_s)

    def next_packet(self, timeout_s: float) -> bytes | None:
        """Return the next packet; None where none arrives in time.

        Raises:
            AssertionError: the agent has reported a result, or has ended, instead.
        """
        ready, _, _ = select.select([self.socket, self.agent.stdout], [], [], max(0.0, timeout_s))
        if self.socket in ready:
            return self.socket.recv(2048)
        assert not ready, f"the agent sends no packet but reports {self.hear()!r}"
        return None

    def ask(self, message: int, number: int, *answers: int) -> bytes:
        """Say something, again and again, until one of these messages answers it."""
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            self.send(message, number)
            packet = self.next_packet(0.05)
            if packet is not None:
                kind, about, *_ = echo_packet.fields(packet)
                if about == number and kind in answers:
                    return packet
            time.sleep(0.002)
        raise AssertionError(f"no answer to {message}")

    def receive(self, message: int) -> bytes:
        """The next packet of that kind; the agent repeats what was not answered."""
        deadline = time.monotonic() + LIMIT_S
        while (packet := self.next_packet(deadline - time.monotonic())) is not None:
            if echo_packet.fields(packet)[0] == message:
                return packet
        raise AssertionError(f"no message {message}")

    def is_silent(self, seconds: float = 0.3) -> bool:
        """Nothing but the agent's own repeated knocks arrives."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                if echo_packet.fields(self.socket.recv(2048))[0] != echo_packet.KNOCK:
                    return False
            except TimeoutError:
                break
        self.socket.settimeout(LIMIT_S)
        return True

    def close(self) -> None:
        self.agent.kill()
        with self.agent:
            pass
        self.socket.close()


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.close()


@pytest.fixture
def granted_peer() -> Iterator[Peer]:
    peer = Peer(pace="granted")
    yield peer
    peer.close()


StartPeer = Callable[..., Peer]


def has_passed(test: Callable[[StartPeer], None]) -> bool:
    """Run a test; return False if it failed but was held up, so that the agent may be right.

    Raises:
        AssertionError, OSError: the test failed and was not held up.
    """
    peers: list[Peer] = []
    with contextlib.ExitStack() as stack:

        def start_peer(pace: str = "free", count: int = 50, silence_ms: int = 10_000) -> Peer:
            peers.append(stack.enter_context(contextlib.closing(Peer(pace, count, silence_ms))))
            return peers[-1]

        try:
            test(start_peer)
        except (AssertionError, OSError):
            if all(p.longest_gap_s < HELD_UP_SHARE * p.silence_s for p in peers):
                raise
            return False
        return True


def repeat_if_held_up(test: Callable[[StartPeer], None]) -> Callable[[], None]:
    """Run a test again where it failed after it was itself silent for too long.

    The test is called with a function that starts a peer with the arguments of `Peer`, and closes
    it at the test's end.
    """

    def repeat() -> None:
        end_s = time.monotonic() + REPEAT_WITHIN_S
        while not has_passed(test):
            assert time.monotonic() < end_s, "the test failed, and was held up, every time"

    return repeat


def test_siphash_of_the_authors_test_vector() -> None:
    # Aumasson and Bernstein 2012, appendix A.
    assert echo_packet.siphash(bytes(range(16)), bytes(range(15))) == 0xA129CA6149BE45E5


def hold_whole_meeting(peer: Peer) -> int:
    """Play a leader that answers 46 of the agent's 50 probes.

    Returns:
        The number of echoes that the agent received in time.
    """
    peer.send(echo_packet.HELLO)
    peer.receive(echo_packet.READY)
    probe = peer.send(echo_packet.PROBE, sequence=7)
    echo = peer.receive(echo_packet.ECHO)
    assert len(echo) == len(probe)
    assert echo_packet.fields(echo) == (echo_packet.ECHO, 5, 1, 0, 7)
    peer.send(echo_packet.TURN)
    for probes in range(50):
        sequence = echo_packet.fields(peer.receive(echo_packet.PROBE))[4]
        if sequence % 10 != 9 or probes >= 45:
            peer.send(echo_packet.ECHO, sequence=sequence)
    peer.receive(echo_packet.OVER)
    peer.send(echo_packet.BYE)
    verb, number, partner, sent, received, *times_ns = peer.hear().split()
    assert (verb, number, partner, sent) == ("rtt", "5", "0", "50")
    low, least, most = map(int, times_ns)
    assert 1_000 < least <= low <= most < 1_000_000_000
    assert peer.hear().startswith("over 5 0 ")
    return int(received)


def test_a_whole_meeting() -> None:
    received = 0
    # An echo that a busy processor delays counts as lost.
    for _ in range(MOST_MEETINGS):
        with contextlib.closing(Peer()) as peer:
            received = hold_whole_meeting(peer)
        assert received <= 46
        if received == 46:
            break
    assert received == 46


def answer_probes(peer: Peer, delays_s: Callable[[int], float]) -> int:
    """Answer until the agent has enough; returns how many probes it sent."""
    answered = 0
    while True:
        packet = peer.socket.recv(2048)
        message, number, _, _, sequence = echo_packet.fields(packet)
        if message == echo_packet.OVER:
            peer.send(echo_packet.BYE, number)
            return answered
        if message == echo_packet.PROBE:
            time.sleep(delays_s(sequence))
            answered = sequence + 1
            peer.send(echo_packet.ECHO, number, sequence)


def lead_to_turn(peer: Peer, number: int = 5) -> int | None:
    """Play the leader until the agent probes.

    Returns:
        The sequence number of the agent's first probe; None where it probes nothing.
    """
    # An agent that is to meet on a processor of its own says `wait` for a moment first.
    peer.ask(echo_packet.HELLO, number, echo_packet.READY)
    packet = peer.ask(echo_packet.TURN, number, echo_packet.PROBE, echo_packet.OVER)
    message, *_, sequence = echo_packet.fields(packet)
    return sequence if message == echo_packet.PROBE else None


def lead(peer: Peer, number: int = 5) -> None:
    """Play the leader until the agent probes, and answer its first probe."""
    sequence = lead_to_turn(peer, number)
    if sequence is not None:
        peer.send(echo_packet.ECHO, number, sequence)


@repeat_if_held_up
def test_a_pause_of_the_agent_is_no_silence_of_its_partner(start_peer: StartPeer) -> None:
    """As where the machine, or the agent's virtual machine, stands still for a moment."""
    silence_s = 1.0
    peer = start_peer(silence_ms=round(silence_s * 1000))
    peer.send(echo_packet.HELLO)
    peer.receive(echo_packet.READY)
    # It waits for this peer when it answers, and no packet is left for it to read.
    peer.check_alive()
    os.kill(peer.agent.pid, signal.SIGSTOP)
    peer.end_gap()
    time.sleep(1.5 * silence_s)
    peer.begin_gap()
    os.kill(peer.agent.pid, signal.SIGCONT)
    # Before the second answer it has checked whether its partner was silent for too long.
    for _ in range(2):
        peer.check_alive()
    peer.ask(echo_packet.TURN, 5, echo_packet.PROBE)


@repeat_if_held_up
def test_one_lost_probe_is_no_silence_to_the_partner(start_peer: StartPeer) -> None:
    silence_s = 3.0
    peer = start_peer(count=2, silence_ms=round(silence_s * 1000))
    first = lead_to_turn(peer)
    assert first is not None
    # So far away that an echo may take longer than the partner is patient.
    time.sleep(0.2)
    peer.send(echo_packet.ECHO, 5, first)
    peer.receive(echo_packet.PROBE)
    lost_at = time.monotonic()
    peer.receive(echo_packet.OVER)
    waited_s = time.monotonic() - lost_at
    # The wait for OVER is a gap, so that this test is always repeated where it fails: an agent that
    # waits for too long does so every time.
    peer.send(echo_packet.BYE)
    assert waited_s < silence_s


def test_it_tells_how_long_it_ran_and_waited(peer: Peer) -> None:
    lead(peer)
    answer_probes(peer, lambda _: 0.002)
    assert peer.hear().startswith("rtt ")
    verb, _, _, *rest = peer.hear().split()
    elapsed_us, run_us = map(int, rest[:2])
    assert verb == "over"
    # The first probe was answered at once.
    assert elapsed_us > 49 * 2000
    assert 0 < run_us < elapsed_us / 2
    assert rest[2] == "-" or 0 <= int(rest[2]) < elapsed_us


def test_a_pair_meets_again(peer: Peer) -> None:
    lead(peer)
    answer_probes(peer, lambda _: 0.0)
    assert peer.hear().startswith("rtt 5 0 ")
    assert peer.hear().startswith("over 5 0 ")
    peer.say("again 6 0 probe 0\nagain 7 0 answer any")
    lead(peer, 6)
    answer_probes(peer, lambda _: 0.0)
    assert peer.hear().startswith("rtt 6 0 ")
    assert peer.hear().startswith("over 6 0 ")
    lead(peer, 7)
    answer_probes(peer, lambda _: 0.0)
    assert peer.hear().startswith("over 7 0 ")


@repeat_if_held_up
def test_a_host_that_it_was_not_told_of_before_is_met(start_peer: StartPeer) -> None:
    impatient_peer = start_peer(silence_ms=SHORT_SILENCE_MS)
    lead(impatient_peer)
    answer_probes(impatient_peer, lambda _: 0.0)
    assert impatient_peer.hear().startswith("rtt 5 0 ")
    assert impatient_peer.hear().startswith("over 5 0 ")
    port = impatient_peer.socket.getsockname()[1]
    # Nobody is there: it knocks, and gives the pair up.
    impatient_peer.say(f"peer 2 {PEER} {port}\nagain 6 2 probe any")
    assert echo_packet.fields(impatient_peer.receive(echo_packet.HELLO))[1:4] == (6, 1, 2)
    assert impatient_peer.hear() == "lost 6 2 silent"


@pytest.mark.parametrize(
    "line",
    [
        f"peer 0 {PEER} 1",
        "pair 6 0 probe",
        "again 5 0 probe any",
        "again 6 9 probe any",
        "again 6 0 probe",
        "percentiles 1",
    ],
)
def test_a_meeting_that_cannot_be_held_again_ends_the_agent(peer: Peer, line: str) -> None:
    peer.say(line)
    assert peer.agent.wait(10) == 2


def test_packets_without_the_secret_get_no_answer(peer: Peer) -> None:
    wrong = echo_packet.seal("ff" * 16, echo_packet.PROBE, 5, (0, 1), 0)
    right = echo_packet.seal(SECRET, echo_packet.PROBE, 5, (0, 1), 0)
    for packet in (wrong, right[:-1], right + b"x", b"", b"hello", right[:8] + bytes(24)):
        peer.socket.sendto(packet, (ADDRESS, peer.port))
    assert peer.is_silent()
    peer.socket.sendto(right, (ADDRESS, peer.port))
    assert len(peer.receive(echo_packet.ECHO)) == len(right)


def test_a_right_packet_from_a_wrong_address_gets_no_answer(peer: Peer) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.2.3", 0))
        other.settimeout(0.3)
        packet = echo_packet.seal(SECRET, echo_packet.PROBE, 5, (0, 1), 0)
        other.sendto(packet, (ADDRESS, peer.port))
        with pytest.raises(TimeoutError):
            other.recv(2048)
    assert peer.is_silent()


def test_a_packet_for_another_host_gets_no_answer(peer: Peer) -> None:
    packet = echo_packet.seal(SECRET, echo_packet.PROBE, 5, (0, 2), 0)
    peer.socket.sendto(packet, (ADDRESS, peer.port))
    assert peer.is_silent()


def test_a_leader_that_never_comes_is_given_up() -> None:
    with contextlib.closing(Peer(silence_ms=400)) as peer:
        assert peer.hear() == "lost 5 0 silent"
        assert peer.hear().startswith("over 5 0 ")
        peer.send(echo_packet.HELLO)
        peer.receive(echo_packet.PAST)


@repeat_if_held_up
def test_a_leader_that_is_late_but_alive_is_waited_for(start_peer: StartPeer) -> None:
    peer = start_peer(silence_ms=3000)
    begun = time.monotonic()
    while time.monotonic() - begun < 4.0:
        peer.receive(echo_packet.KNOCK)
        peer.send(echo_packet.WAIT)
    peer.send(echo_packet.HELLO)
    peer.receive(echo_packet.READY)


@repeat_if_held_up
def test_a_leader_that_stops_answering_is_given_up(start_peer: StartPeer) -> None:
    impatient_peer = start_peer(silence_ms=SHORT_SILENCE_MS)
    impatient_peer.send(echo_packet.HELLO)
    impatient_peer.receive(echo_packet.READY)
    assert impatient_peer.hear() == "lost 5 0 silent"


def test_a_leader_that_is_gone_is_not_waited_for(peer: Peer) -> None:
    peer.say("gone 0")
    assert peer.hear() == "lost 5 0 gone"


@repeat_if_held_up
def test_a_granted_follower_waits_for_its_grant(start_peer: StartPeer) -> None:
    peer = start_peer("granted", silence_ms=SHORT_SILENCE_MS)
    # For longer than it waits for a silent leader.
    assert peer.is_silent(1.25 * SHORT_SILENCE_MS / 1000)
    peer.begin_gap()
    peer.send(echo_packet.HELLO)
    peer.receive(echo_packet.WAIT)
    peer.say("go 5 0")
    peer.receive(echo_packet.KNOCK)
    peer.send(echo_packet.HELLO)
    peer.receive(echo_packet.READY)


def test_a_granted_follower_gives_a_silent_leader_up() -> None:
    with contextlib.closing(Peer("granted", silence_ms=400)) as peer:
        peer.say("go 5 0")
        assert peer.hear() == "lost 5 0 silent"
        assert peer.hear().startswith("over 5 0 ")


def test_a_suspect_is_waited_for_less() -> None:
    with (
        contextlib.closing(Peer("granted")) as trusting,
        contextlib.closing(Peer("granted")) as suspicious,
    ):
        trusting.say("go 5 0")
        suspicious.say("suspect 0\ngo 5 0")
        assert suspicious.hear() == "lost 5 0 silent"
        # It would have reported a lost partner before.
        trusting.check_alive()


def test_a_greeting_for_an_unknown_round_is_ignored(granted_peer: Peer) -> None:
    granted_peer.send(echo_packet.HELLO, number=6)
    assert granted_peer.is_silent()


@repeat_if_held_up
def test_a_partner_that_leaves_in_the_middle_is_no_reading(start_peer: StartPeer) -> None:
    # The agent does not send that many probes before it gives the partner up.
    peer = start_peer(count=1000, silence_ms=SHORT_SILENCE_MS)
    peer.send(echo_packet.HELLO)
    peer.receive(echo_packet.READY)
    peer.send(echo_packet.TURN)
    for _ in range(5):
        sequence = echo_packet.fields(peer.receive(echo_packet.PROBE))[4]
        peer.send(echo_packet.ECHO, sequence=sequence)
    assert peer.hear() == "lost 5 0 silent"


def test_the_agent_says_that_it_lives(peer: Peer) -> None:
    peer.say("alive")
    while (said := peer.hear()) != "alive":
        assert said


def test_the_agent_ends_with_its_input(peer: Peer) -> None:
    peer.agent.communicate(timeout=100)
    assert peer.agent.returncode == 0


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "run 1 0 400 free " + SECRET,
        "run 1 5 400 fast " + SECRET,
        "run 1 5 400 free 1234",
        "run 99999999 5 400 free " + SECRET,
        "percentiles",
        "percentiles nan",
        "percentiles 101",
        "again 6 0 probe any",
        "bind 127.0.0.1 0",
        "peer 0 example.org 1",
        "pair 0 3 probe",
        "pair 0",
        "go",
        "go 1",
        "go 1 9999",
        "x" * 5000,
    ],
)
def test_lines_that_no_coordinator_says_end_the_agent(line: str) -> None:
    agent = start_agent()
    _, complaint = agent.communicate(line + "\n", timeout=100)
    assert agent.returncode == 2
    assert complaint.startswith("does not understand ")


def test_an_address_that_is_not_this_hosts_is_named() -> None:
    agent = start_agent()
    assert agent.stdin is not None
    agent.stdin.write(f"run 1 5 400 free {SECRET}\npercentiles 10\nbind 192.0.2.1 0\n")
    agent.stdin.flush()
    assert agent.wait(10) == 1
    _, complaint = agent.communicate()
    assert "cannot open its UDP port: Cannot assign requested address" in complaint


def test_the_agent_takes_no_arguments() -> None:
    path = start_agent()
    path.communicate("stop\n", timeout=100)
    assert path.returncode == 0
    done = subprocess.run([path.args[0], "x"], capture_output=True, text=True, check=False)  # type: ignore[index]
    assert done.returncode == 2
    assert "plink probe starts it" in done.stderr


@repeat_if_held_up
def test_a_suspect_that_is_heard_but_does_not_hear_waits_less_too(start_peer: StartPeer) -> None:
    trusted, suspect = start_peer("granted"), start_peer("granted")
    trusted.say("go 5 0")
    suspect.say("suspect 1\ngo 5 0")
    for peer in (trusted, suspect):
        peer.receive(echo_packet.KNOCK)
        peer.send(echo_packet.HELLO)
        peer.receive(echo_packet.READY)
    assert suspect.hear() == "lost 5 0 silent"
    # It would have reported a lost partner before.
    trusted.check_alive()


def test_a_meeting_is_held_while_strangers_flood_the_port(peer: Peer) -> None:
    is_over = threading.Event()

    def flood() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for number in range(200_000):
                if is_over.is_set():
                    return
                # Beyond what its buffer holds the kernel drops the partner's packets, too.
                if number % 64 == 0:
                    time.sleep(0.0005)
                packet = number.to_bytes(4, "little") * (8 if number % 2 else 1)
                stranger.sendto(packet, (ADDRESS, peer.port))

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        lead(peer)
        assert answer_probes(peer, lambda _: 0.0) >= 50
    finally:
        is_over.set()
        thread.join()
    assert peer.hear().startswith("rtt 5 0 ")
