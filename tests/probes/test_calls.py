"""Agents that call home, over loopback: who is trusted, and what runs there."""

import os
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import paramiko
import pytest

from plink.probes.calls.agent import CallTarget, _SshServer, derive_keys, serve
from plink.probes.calls.listener import CallOpener, Listener, gather
from plink.probes.errors import HostError, HostListError, OptionError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import ListenOptions
from plink.probes.reach import reach
from plink.probes.ssh.session import SshSession
from support.plink_command import plink_here

SECRET = b"not-so-secret-in-tests"


class OverError(Exception):
    """Ends an agent where it would wait for its next call."""


def options(**changes: object) -> ListenOptions:
    return ListenOptions(**{"host": "127.0.0.1", "port": 0, "secret": SECRET, **changes})  # type: ignore[arg-type]


@contextmanager
def agent(port: int, name: str, secret: bytes = SECRET) -> Iterator[list[str]]:
    """An agent that calls until the block ends; what it says."""
    said: list[str] = []
    over = threading.Event()

    def pause(_: float) -> None:
        if over.wait(0.05):
            raise OverError

    def run() -> None:
        with suppress(OverError):
            home = CallTarget("127.0.0.1", port, derive_keys(secret), name)
            serve(home, lambda told: said.append(told.message), pause=pause)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield said
    finally:
        over.set()
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture
def listener() -> Iterator[Listener]:
    opened = Listener(options())
    yield opened
    opened.close()


@pytest.fixture
def session(listener: Listener) -> Iterator[SshSession]:
    """An agent called `far`."""
    with agent(listener.port, "far"):
        listener.wait_until(lambda names: names == {"far"}, 10)
        found = listener.session("far")
        assert found is not None
        yield found
        listener.close()


def test_commands_run_where_the_agent_is(session: SshSession) -> None:
    done = session.run('cat; echo "$PLINK_AGENT_NAME"; echo oops >&2; exit 3', b"input\n")
    assert (done.status, done.stdout, done.stderr) == (3, b"input\nfar\n", "oops")
    assert session.run("kill -9 $$").status == -1
    content = os.urandom(3_000_000)
    assert session.run("cat", content).stdout == content


def test_a_quick_command_does_not_end_before_it_has_begun(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = _SshServer.check_channel_exec_request

    def slow(*arguments: Any) -> bool:
        is_begun = begin(*arguments)
        time.sleep(0.3)  # as where other threads have the processor
        return is_begun

    monkeypatch.setattr(_SshServer, "check_channel_exec_request", slow)
    with agent(listener.port, "far") as said:
        listener.wait_until(lambda names: names == {"far"}, 10)
        assert listener.refusals() == []
        session = listener.session("far")
        assert session is not None
        processes = [session.start("echo there") for _ in range(4)]
        assert [list(process.lines()) for process in processes] == [["there"]] * 4
        assert len(said) == 1
        listener.close()


def test_many_call_at_once_past_the_first_limit_of_connections() -> None:
    # Each end of a call takes a descriptor of this process.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = len(list(Path("/proc/self/fd").iterdir()))
    names = {f"h{number:02}" for number in range(60)}
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, taken + 40), hard))
    try:
        opened = Listener(options())
        with ExitStack() as calling:
            for name in names:
                calling.enter_context(agent(opened.port, name))
            opened.wait_until(lambda there: there == names, 60)
            assert {host.name for host in opened.hosts} == names, opened.refusals()
            opened.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_calls_that_wait_sleep_and_notice_an_end_at_once(listener: Listener) -> None:
    names = {f"h{number:02}" for number in range(20)}
    with ExitStack() as calling:
        heard = [calling.enter_context(agent(listener.port, name)) for name in sorted(names)]
        listener.wait_until(lambda there: there == names, 60)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        time.sleep(1.0)
        waits = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before
        listener.close()
        wait_for(lambda: all(any("has gone" in line for line in said) for said in heard), 3)
    # Both ends are here.
    assert waits < 2 * len(names)


def test_several_at_once_and_conversations(session: SshSession) -> None:
    processes = [session.start("while read a; do echo got $a; done") for _ in range(8)]
    for number, process in enumerate(processes):
        process.write(f"{number}\n")
    for number, process in enumerate(processes):
        lines = process.lines()
        assert next(lines) == f"got {number}"
        process.end_input()
        assert list(lines) == []
        assert process.wait_for_exit(10) == 0


def test_what_runs_ends_with_the_call(
    session: SshSession, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plink.probes.calls.agent._GOODBYE_S", 0.2)
    process = session.start("trap '' TERM HUP; echo $$; while :; do sleep 0.1; done")
    pid = int(next(process.lines()))
    listener.close()
    wait_for(lambda: not is_there(pid), 20)


def test_nothing_but_commands_is_served(session: SshSession) -> None:
    transport = session._transport
    with pytest.raises(paramiko.ChannelException):
        transport.open_channel("direct-tcpip", ("127.0.0.1", 22), ("", 0))
    channel = transport.open_session()
    with pytest.raises(paramiko.SSHException):
        channel.invoke_shell()


def test_an_agent_with_another_secret_is_turned_away(listener: Listener) -> None:
    with agent(listener.port, "far", b"another-secret-altogether") as said:
        wait_for(lambda: bool(listener.refusals()), 10)
        wait_for(lambda: any("has another secret" in line for line in said), 10)
    assert listener.hosts == []
    assert listener.refusals()[0] == "127.0.0.1: its agent has another secret"


def test_one_agent_that_is_refused_again_and_again_hides_no_other(listener: Listener) -> None:
    strangers = [f"far{number}" for number in range(4)]
    with ExitStack() as calling:
        for name in strangers:
            said = calling.enter_context(agent(listener.port, name, b"another-secret-altogether"))
            wait_for(lambda said=said: any("has another secret" in line for line in said), 60)
        calling.enter_context(agent(listener.port, "-rf $(id)"))
        wait_for(lambda: any("the agent at 127.0.0.1" in text for text in listener.refusals()), 60)
        assert len(listener.refusals()) == 2
        listener.close()


def test_an_agent_waits_for_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plink.probes.calls.agent._HANDSHAKE_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server, agent(server.getsockname()[1], "far"):
        with server.accept()[0]:
            server.settimeout(1.0)
            with pytest.raises(TimeoutError):
                server.accept()
        server.shutdown(socket.SHUT_RDWR)


def test_a_stranger_who_listens_runs_nothing_there(tmp_path: Path) -> None:
    """It shows what it likes: without the secret it has not the key that the agent trusts."""
    with socket.create_server(("127.0.0.1", 0)) as server, agent(server.getsockname()[1], "far"):
        transport = paramiko.Transport(server.accept()[0])
        try:
            transport.start_client(timeout=100)
            with pytest.raises(paramiko.AuthenticationException):
                transport.auth_publickey("plink", derive_keys(b"a-guess-at-the-secret").coordinator)
            with pytest.raises(paramiko.SSHException):
                transport.auth_password("plink", "password")
            with pytest.raises(paramiko.SSHException):
                transport.open_session(timeout=2).exec_command(f"touch {tmp_path}/ran")
        finally:
            transport.close()
    assert not (tmp_path / "ran").exists()


def test_who_speaks_no_ssh_costs_one_handshake(listener: Listener) -> None:
    with socket.create_connection(("127.0.0.1", listener.port)) as stranger:
        stranger.sendall(b"GET / HTTP/1.0\r\n\r\n" + b"x" * 100_000)
        with agent(listener.port, "far"):
            listener.wait_until(lambda names: names == {"far"}, 10)
            assert [host.name for host in listener.hosts] == ["far"]
            listener.close()


def test_names_are_names_and_each_is_one_host(listener: Listener) -> None:
    with agent(listener.port, "same"):
        listener.wait_until(lambda names: names == {"same"}, 10)
        with agent(listener.port, "same"), agent(listener.port, "-rf $(id)"):
            wait_for(lambda: len(listener.refusals()) >= 2, 10)
            assert [host.name for host in listener.hosts] == ["same"]
            listener.close()
    assert any(
        "another host called same is connected already" in text for text in listener.refusals()
    )
    assert any("the agent at 127.0.0.1" in text for text in listener.refusals())


def test_an_agent_calls_again_when_plink_comes_back() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with agent(port, "far") as said:
        wait_for(lambda: bool(said), 10)
        for _ in range(2):
            listener = Listener(options(port=port))
            listener.wait_until(lambda names: names == {"far"}, 10)
            assert [host.name for host in listener.hosts] == ["far"]
            listener.close()
    assert "refused" in said[0]


def test_hosts_of_a_list_are_waited_for() -> None:
    listed = [ListedHost("a")]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    way = options(port=port, wait_s=60.0)
    with agent(port, "a"), reach(listed, way, network=ip_network("127.0.0.0/8")) as reached:
        assert [host.name for host in reached.hosts] == ["a"]
        assert reached.failures == []
        reached.opener.close()


def test_hosts_of_a_list_that_do_not_call_are_named(listener: Listener) -> None:
    listed = [ListedHost("a"), ListedHost("b")]
    with agent(listener.port, "a"):
        listener.wait_until(lambda names: names == {"a"}, 60)
        opener = CallOpener(listener, wait_s=2.0)
        opener.prepare(listed)
        assert opener.open(listed[0]).run("true").status == 0
        with pytest.raises(HostError) as caught:
            opener.open(listed[1])
        assert (caught.value.host, str(caught.value)) == (
            "b",
            "its agent has not connected to plink within 2 s",
        )
        with reach(listed, listener, network=ip_network("127.0.0.0/8")) as reached:
            assert [host.name for host in reached.hosts] == ["a"]
            assert [failure.host for failure in reached.failures] == ["b"]
            reached.opener.close()


def test_fewer_than_two_callers_are_no_run() -> None:
    with pytest.raises(HostListError, match="0 of 3 agents have connected within 0"):
        gather(options(wait_s=0.2), 3)


def test_a_port_that_is_taken_is_named(listener: Listener) -> None:
    with pytest.raises(OptionError, match=rf"cannot listen on 127\.0\.0\.1 port {listener.port}"):
        Listener(options(port=listener.port))


def wait_for(condition: Callable[[], bool], limit_s: float) -> None:
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_agent_may_give_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    home = CallTarget("127.0.0.1", port, derive_keys(SECRET), "far")
    with pytest.raises(OptionError, match=r"no plink .* listened at 127\.0\.0\.1"):
        serve(home, lambda _: None, wait_s=0.1, pause=lambda _: time.sleep(0.05))


def test_an_agent_tells_of_a_stranger_in_a_line(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    secret.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    with server.accept()[0] as connection:
                        connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        place = f"127.0.0.1:{server.getsockname()[1]}"
        done = plink_here("agent", "--join", place, "--secret-file", secret, "--wait", "0")
        server.shutdown(socket.SHUT_RDWR)
    assert (done.code, done.stderr.count("waiting for 127.0.0.1")) == (2, 1), done.stderr
