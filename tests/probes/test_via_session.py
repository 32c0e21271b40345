"""Hosts behind a command: `env` leads into this machine as `docker exec` leads into a container."""

import os
import shlex
import threading
import time
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path

import pytest

from plink.probes.errors import HostError, HostListError, OptionError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import ViaOptions
from plink.probes.reach import reach
from plink.probes.remote.session import MAX_OUTPUT
from plink.probes.remote.upload import Program, start_words, upload
from plink.probes.via import ViaOpener, ViaSession


@pytest.fixture
def session() -> Iterator[ViaSession]:
    opener = ViaOpener(ViaOptions("env THERE={host}"))
    yield opener.open(ListedHost("far"))
    opener.close()


def test_a_command_runs_there(session: ViaSession) -> None:
    done = session.run('cat; echo "$THERE"; echo oops >&2; exit 3', b"input\n")
    assert (done.status, done.stdout, done.stderr) == (3, b"input\nfar\n", "oops")


def test_megabytes_go_both_ways(session: ViaSession) -> None:
    content = os.urandom(MAX_OUTPUT - 1)
    assert session.run("cat", content).stdout == content


def test_a_command_need_not_read_what_it_gets(session: ViaSession) -> None:
    assert session.run("echo done", b"x" * 1_000_000).stdout == b"done\n"


def test_output_without_end_is_refused(session: ViaSession) -> None:
    with pytest.raises(HostError, match="wrote more than 8 MiB"):
        session.run("yes")


def test_a_command_that_does_not_end_is_ended(session: ViaSession, tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"did not end within 0\.5 s"):
        session.run(f"echo $$ > {tmp_path}/pid; sleep 60", timeout_s=0.5)
    assert_gone(int((tmp_path / "pid").read_text()))


def test_a_helper_that_holds_the_output_open_holds_up_nobody(session: ViaSession) -> None:
    began_s = time.monotonic()
    with pytest.raises(HostError, match=r"did not end within 0\.3 s"):
        session.run("setsid sleep 20 & exit 0", timeout_s=0.3)
    assert time.monotonic() - began_s < 10


def test_a_conversation(session: ViaSession) -> None:
    process = session.start('while read line; do echo "$THERE $line"; done; echo bye >&2')
    lines = process.lines()
    process.write("one\n")
    assert next(lines) == "far one"
    process.write("two\n")
    assert next(lines) == "far two"
    process.end_input()
    assert list(lines) == []
    assert process.stderr_tail() == "bye"
    assert process.wait_for_exit(5) == 0


def test_what_was_ended_before_it_was_read_is_lost(session: ViaSession) -> None:
    process = session.start("cat")
    session.close()
    with pytest.raises(HostError, match="connection was lost"):
        list(process.chunks())


def test_who_is_gone_takes_nothing(session: ViaSession) -> None:
    process = session.start("exit 1")
    process.wait_for_exit(5)
    with pytest.raises(HostError, match="the connection was lost"):
        process.write("hello\n")


def test_closing_ends_what_ignores_the_end_of_its_input(session: ViaSession) -> None:
    process = session.start("trap '' TERM; echo $$; while :; do sleep 1; done")
    pid = int(next(process.lines()))
    session.close()
    assert_gone(pid)
    with pytest.raises(HostError, match="the connection was lost"):
        session.start("true")


def test_a_write_that_nobody_takes_can_be_abandoned(session: ViaSession) -> None:
    process = session.start("sleep 60")
    timer = threading.Timer(0.3, process.abandon)
    timer.start()
    with pytest.raises(HostError, match="the connection was lost"):
        process.write("x" * 1_000_000)
    assert process.wait_for_exit(5) == -1


def test_ctrl_c_is_left_to_plink(session: ViaSession) -> None:
    process = session.start("echo $$; cat")
    assert os.getsid(int(next(process.lines()))) != os.getsid(0)


def test_a_program_is_uploaded_and_started(session: ViaSession, tmp_path: Path) -> None:
    program = Program("say", b'#!/bin/sh\necho "$THERE says $1"\n')
    upload(session, program, str(tmp_path))
    done = session.run(shlex.join(start_words(program, str(tmp_path), ["hello"])))
    assert done.stdout == b"far says hello\n"


def test_hosts_are_reached_and_their_failures_named() -> None:
    # A shell gets `good sh -c COMMAND`: $3 is the command.
    program = 'case $0 in good) sh -c "$3" ;; *) echo "no such pod" >&2; exit 1 ;; esac'
    way = ViaOptions(f"sh -c '{program}' {{host}}")
    with reach(
        [ListedHost("good"), ListedHost("bad")], way, network=ip_network("127.0.0.0/8")
    ) as reached:
        assert [host.name for host in reached.hosts] == ["good"]
        (failure,) = reached.failures
    assert str(failure) == "it runs no POSIX shell (sh -s: no such pod)"
    assert failure.host == "bad"


def test_a_program_that_is_not_here_is_named_once() -> None:
    with pytest.raises(OptionError, match="the program kubectl-lost is not installed here"):
        reach([ListedHost("a"), ListedHost("b")], ViaOptions("kubectl-lost exec {host}"))


def test_a_name_that_is_an_option_or_worse_is_refused() -> None:
    with pytest.raises(HostListError):
        reach([ListedHost("-rf"), ListedHost("b")], ViaOptions("env {host}"))


def assert_gone(pid: int) -> None:
    end_s = time.monotonic() + 5
    while time.monotonic() < end_s:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} still runs")
