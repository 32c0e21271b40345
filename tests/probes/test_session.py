"""Sessions with a real sshd: what ends well, what never ends, and what breaks."""

import socket
import threading
import time
from collections.abc import Iterator

import paramiko
import pytest

from plink.probes.errors import HostError
from plink.probes.remote.session import MAX_LINE, MAX_OUTPUT, Session
from plink.probes.ssh.connect import SshOpener
from plink.probes.ssh.session import SshSession
from support.sshd import Sshd

pytestmark = pytest.mark.needs("lab")


@pytest.fixture
def session(sshd: Sshd) -> Iterator[Session]:
    options = sshd.options()
    opened = SshOpener(options).connect(sshd.target(options))
    yield opened
    opened.close()


def test_a_command_runs_to_its_end(session: Session) -> None:
    done = session.run("cat; echo aside >&2; exit 3", b"given")
    assert (done.status, done.stdout, done.stderr) == (3, b"given", "aside")


def test_streams_larger_than_their_windows(session: Session) -> None:
    done = session.run("head -c 6000000 /dev/zero >&2; head -c 6000000 /dev/zero")
    assert (done.status, len(done.stdout)) == (0, 6_000_000)


def test_a_command_that_does_not_read_its_input(session: Session) -> None:
    for _ in range(5):
        done = session.run("echo out; exit 2", stdin=bytes(8 << 20))
        assert (done.status, done.stdout) == (2, b"out\n")


def test_a_command_killed_by_a_signal_is_not_a_lost_connection(session: Session) -> None:
    assert session.run("kill -9 $$").status == -1
    assert session.run("true").status == 0


@pytest.mark.parametrize("error", [EOFError, OSError, paramiko.SSHException])
def test_a_command_is_closed_while_its_connection_breaks(
    session: SshSession, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = session.start("cat")

    def send(*_: object) -> None:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(paramiko.Transport, "_send_user_message", send)
        process.close()
    assert session.run("true").status == 0
    # What is read has to be acknowledged.
    flood = session.start("head -c 6000000 /dev/zero | tee /dev/stderr")
    with monkeypatch.context() as broken:
        broken.setattr(paramiko.Transport, "_send_user_message", send)
        with pytest.raises(HostError, match="connection was lost"):
            list(flood.chunks())
        flood.stderr_tail()


@pytest.mark.parametrize(
    "command", ["exec sleep 60", "exec yes slow >&2", "exec sleep 60 >&- 2>&-"]
)
def test_the_time_limit_holds(session: Session, command: str) -> None:
    limit_s = 0.5
    start_s = time.monotonic()
    # Where the machine is busy even the start may take that long, which is another sentence.
    with pytest.raises(HostError) as caught:
        session.run(command, timeout_s=limit_s)
    elapsed_s = time.monotonic() - start_s
    assert caught.value.host == session.host
    assert limit_s <= elapsed_s < 30
    # A connection on which the command cannot be closed within 4 s is abandoned.
    if elapsed_s < 4:
        assert session.run("true").status == 0


def test_a_host_that_writes_for_ever_is_cut_off(session: Session) -> None:
    with pytest.raises(HostError, match=f"more than {MAX_OUTPUT >> 20} MiB"):
        session.run("exec cat /dev/zero")


def test_a_connection_lost_while_a_command_runs(session: Session) -> None:
    with pytest.raises(HostError, match="connection was lost"):
        session.run("echo begun; kill -9 $PPID; sleep 5")


def test_a_connection_lost_after_the_output(session: Session) -> None:
    with pytest.raises(HostError, match="connection was lost"):
        session.run("exec >&- 2>&-; sleep 1; kill -9 $PPID; sleep 5")


def test_a_channel_without_an_end_is_lost_before_its_connection_counts_as_broken(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = session.start("echo begun; kill -9 $PPID; sleep 5")
    monkeypatch.setattr(paramiko.Transport, "is_active", lambda _: True)
    monkeypatch.setattr(paramiko.Transport, "join", lambda *_: None)
    with pytest.raises(HostError, match="connection was lost"):
        list(process.chunks())
    with pytest.raises(HostError, match="connection was lost"):
        process.wait_for_exit(5)


def test_the_lines_of_a_process(session: Session) -> None:
    process = session.start("while read line; do echo got $line; done; echo bye >&2; exit 4")
    process.write("a\nb\n")
    lines = process.lines()
    assert [next(lines), next(lines)] == ["got a", "got b"]
    process._channel.shutdown_write()
    assert list(lines) == []
    assert process.stderr_tail() == "bye"
    assert process.wait_for_exit(5) == 4


def test_lines_come_whole_and_so_does_an_unfinished_last_one(session: Session) -> None:
    process = session.start("printf 'a\\r\\n\\nb c\\nhal'; sleep 0.2; printf 'f\\nlast'")
    assert list(process.lines()) == ["a", "", "b c", "half", "last"]


def test_bytes_that_are_not_text_are_refused(session: Session) -> None:
    process = session.start("printf 'text\\n\\377\\n'")
    lines = process.lines()
    assert next(lines) == "text"
    with pytest.raises(HostError, match="sent bytes that are not text"):
        next(lines)


def test_a_line_without_end_is_refused(session: Session) -> None:
    process = session.start("exec cat /dev/zero")
    with pytest.raises(HostError, match=f"longer than {MAX_LINE >> 10} KiB"):
        next(process.lines())
    process.close()


def test_a_connection_lost_between_lines(session: Session) -> None:
    process = session.start("echo begun; kill -9 $PPID; sleep 5")
    with pytest.raises(HostError, match="connection was lost"):
        list(process.lines())


class _Silent(paramiko.ServerInterface):
    """Lets everyone in, opens channels, and never answers a request for a command."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return paramiko.AUTH_SUCCESSFUL

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        self.ended.wait()
        return False


@pytest.fixture
def silent_session() -> Iterator[Session]:
    ours, theirs = socket.socketpair()
    server = paramiko.Transport(theirs)
    server.add_server_key(paramiko.ECDSAKey.generate())
    silent = _Silent()
    server.start_server(event=threading.Event(), server=silent)
    client = paramiko.Transport(ours)
    client.start_client(timeout=100)
    client.auth_publickey("u", paramiko.ECDSAKey.generate())
    yield SshSession("x", client, "x", "x")
    silent.ended.set()
    client.close()
    server.close()


@pytest.mark.parametrize("ask", ["run", "start"])
def test_a_server_that_never_starts_the_command(silent_session: Session, ask: str) -> None:
    limit_s = 0.3
    start_s = time.monotonic()
    # Without a limit it would wait for ever. Where the machine is busy, opening a channel may take
    # as long as the limit, which is another sentence.
    with pytest.raises(HostError) as caught:
        getattr(silent_session, ask)("true", timeout_s=limit_s)
    assert time.monotonic() - start_s >= limit_s
    assert caught.value.host == silent_session.host
