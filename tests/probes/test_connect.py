"""Connections to a real sshd, through jump hosts, with keys of every kind, and to nobody."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from plink.base.replacing import replace
from plink.probes.errors import HostError, OptionError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import SshOptions
from plink.probes.reach import reach
from plink.probes.remote.session import Session, for_each
from plink.probes.ssh.config import SshConfig, Target
from plink.probes.ssh.connect import SshOpener
from support.running import wait_for
from support.sshd import Sshd, make_key, mute_port

pytestmark = pytest.mark.timing


def connect(sshd: Sshd, options: SshOptions, **changes: object) -> Session:
    return SshOpener(options).connect(replace(sshd.target(options), **changes))  # type: ignore[arg-type]


def refusal(sshd: Sshd, options: SshOptions, **changes: object) -> HostError:
    with pytest.raises(HostError) as caught:
        connect(sshd, options, **changes)
    return caught.value


def test_a_new_host_key_is_refused_or_remembered(sshd: Sshd, tmp_path: Path) -> None:
    files = {"known_hosts_files": (str(tmp_path / "k"),), "new_host_keys_file": str(tmp_path / "k")}
    assert "host key is not in known_hosts" in str(refusal(sshd, sshd.options(), **files))
    accepting = sshd.options(accept_new_host_keys=True)
    connect(sshd, accepting, **files).close()
    connect(sshd, sshd.options(), **files).close()


def test_another_host_key_is_refused(sshd: Sshd, tmp_path: Path) -> None:
    other = make_key(tmp_path / "other").with_suffix(".pub").read_text()
    (tmp_path / "k").write_text(f"[127.0.0.1]:{sshd.port} {other}")
    options = sshd.options(accept_new_host_keys=True)
    error = refusal(sshd, options, known_hosts_files=(str(tmp_path / "k"),))
    assert "differs from the one in known_hosts" in str(error)


def test_a_revoked_host_key_is_refused(sshd: Sshd, tmp_path: Path) -> None:
    (tmp_path / "k").write_text(f"@revoked * {sshd.host_key}\n")
    options = sshd.options(accept_new_host_keys=True)
    files = (str(tmp_path / "k"), str(sshd.known))
    assert "revoked" in str(refusal(sshd, options, known_hosts_files=files))


def test_known_hosts_that_cannot_be_read_accept_nothing(sshd: Sshd, tmp_path: Path) -> None:
    options = sshd.options(accept_new_host_keys=True)
    error = refusal(sshd, options, known_hosts_files=(str(tmp_path),))
    assert "cannot be read" in str(error)


@pytest.mark.parametrize("kind", ["ecdsa", "ed25519"])
def test_a_key_that_is_not_let_in(sshd: Sshd, tmp_path: Path, kind: str) -> None:
    key = make_key(tmp_path / "stranger", kind)
    error = refusal(sshd, sshd.options(), identity_files=(str(key),))
    assert str(error).startswith("SSH refuses user ")
    assert error.hint is not None


@pytest.mark.parametrize("kind", ["rsa", "ecdsa"])
def test_keys_of_other_kinds_are_let_in(sshd: Sshd, tmp_path: Path, kind: str) -> None:
    key = make_key(tmp_path / "more", kind)
    with (sshd.folder / "authorized").open("a") as authorized:
        authorized.write(key.with_suffix(".pub").read_text())
    connect(sshd, sshd.options(), identity_files=(str(key),)).close()


def test_what_is_no_key(sshd: Sshd, tmp_path: Path) -> None:
    (tmp_path / "rubbish").write_text("nothing")
    error = refusal(sshd, sshd.options(), identity_files=(str(tmp_path / "rubbish"),))
    assert "is not a usable private SSH key" in str(error)
    error = refusal(sshd, sshd.options(), identity_files=(str(tmp_path / "none"),))
    assert "no SSH key to offer" in str(error)


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    place = tmp_path / "agent"
    with subprocess.Popen(["ssh-agent", "-D", "-a", place], stdout=subprocess.DEVNULL) as process:
        end_s = time.monotonic() + 10
        while not place.exists() and time.monotonic() < end_s:
            time.sleep(0.02)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(place))
        yield
        process.kill()


def test_the_agent_unlocks_a_key_that_is_named(sshd: Sshd, tmp_path: Path, agent: None) -> None:
    locked = tmp_path / "locked"
    locked.write_bytes(sshd.key.read_bytes())
    locked.chmod(0o600)
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", locked], check=True)
    Path(f"{locked}.pub").write_text(Path(f"{sshd.key}.pub").read_text())
    error = refusal(sshd, sshd.options(), identity_files=(str(locked),))
    assert "passphrase" in str(error)
    assert "ssh-agent" in str(error.hint)
    subprocess.run(["ssh-add", "-q", sshd.key], check=True)
    connect(sshd, sshd.options(), identity_files=(str(locked),)).close()


def test_other_keys_of_the_agent_stay_there(sshd: Sshd, tmp_path: Path, agent: None) -> None:
    subprocess.run(["ssh-add", "-q", sshd.key], check=True)
    stranger = (str(make_key(tmp_path / "stranger")),)
    assert "refuses" in str(refusal(sshd, sshd.options(), identity_files=stranger))
    connect(sshd, sshd.options(), identity_files=stranger, identities_only=False).close()


def test_through_a_jump_host(sshd: Sshd) -> None:
    options = sshd.options()
    gate = sshd.target(options, "gate")
    connector = SshOpener(options)
    session = connector.connect(replace(sshd.target(options), jumps=(gate,)))
    assert session.run("echo there").stdout == b"there\n"
    connector.close()
    with pytest.raises(HostError, match="connection was lost"):
        session.run("true")


_PIPE = """
import os, socket, sys, threading
link = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def pump():
    while data := os.read(0, 65536): link.sendall(data)
threading.Thread(target=pump, daemon=True).start()
while data := link.recv(65536): os.write(1, data)
"""


def test_through_a_proxy_command(sshd: Sshd, tmp_path: Path) -> None:
    (tmp_path / "pipe.py").write_text(_PIPE)
    command = f"{sys.executable} {tmp_path}/pipe.py {sshd.port}"
    options = sshd.options()
    connector = SshOpener(options)
    proxied = replace(sshd.target(options), proxy_command=command)
    assert connector.connect(proxied).run("echo there").stdout == b"there\n"
    connector.close()
    error = refusal(sshd, options, proxy_command="exit 1")
    assert error.host == "here"


def test_dead_jump_hosts_are_tried_once(sshd: Sshd) -> None:
    options = sshd.options(timeout_s=1.0)
    local = ("127.0.0.1", 0)
    with socket.create_server(local) as one, socket.create_server(local) as two:
        ports = [server.getsockname()[1] for server in (one, two)]
        chains = [(replace(sshd.target(options), port=port),) for port in ports]
        targets = [replace(sshd.target(options, f"h{i}"), jumps=chains[i % 2]) for i in range(8)]
        connector = SshOpener(options)
        failures = {target.name: error for target, error in for_each(connector.connect, targets, 2)}
        connector.close()
        for server in (one, two):
            server.setblocking(False)
            server.accept()[0].close()
            with pytest.raises(BlockingIOError):
                server.accept()
    assert sorted(failures) == [f"h{i}" for i in range(8)]
    for error in failures.values():
        assert isinstance(error, HostError)
        assert "jump host here: SSH port" in str(error)


def test_a_server_that_hangs_up(sshd: Sshd) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def hang_up() -> None:
            server.accept()[0].close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        error = refusal(sshd, sshd.options(), port=port)
        thread.join()
    assert "failed" in str(error)


def test_a_port_that_says_nothing(sshd: Sshd) -> None:
    with mute_port() as port:
        error = refusal(sshd, sshd.options(timeout_s=0.5), port=port)
    assert str(error) == f"SSH port {port} of 127.0.0.1 does not answer within 0.5 s"


def test_leaving_what_was_reached_closes_it(sshd: Sshd) -> None:
    options = sshd.options()
    with reach([ListedHost("here")], options, interface="lo") as reached:
        assert reached.hosts[0].address == "127.0.0.1"
        session = reached.hosts[0].session
        assert session.run("true").status == 0
    with pytest.raises(HostError, match="connection was lost"):
        session.run("true")


def test_a_machine_that_is_listed_twice(sshd: Sshd) -> None:
    listed = [ListedHost("one", place="hosts.txt:1"), ListedHost("two", place="hosts.txt:4")]
    with pytest.raises(OptionError) as caught:
        reach(listed, sshd.options(), interface="lo")
    assert str(caught.value) == (
        "one (hosts.txt:1) and two (hosts.txt:4) both have the traffic address 127.0.0.1"
    )


_PROBE = "import sys; from plink.cli import main; main(sys.argv[1:])"


def test_an_interrupt_ends_at_once(sshd: Sshd, tmp_path: Path) -> None:
    with mute_port() as port:
        (tmp_path / "config").write_text(f"Host mute*\n  HostName 127.0.0.1\n  Port {port}\n")
        (tmp_path / "hosts").write_text("mute1\nmute2\n")
        process = subprocess.Popen(
            [sys.executable, "-c", _PROBE, "probe", "hosts", "-F", "config", "-o", "out.json"],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(_root()))},
        )
        try:
            wait_for(lambda: is_connected(process.pid, port), process)
            process.send_signal(signal.SIGINT)
            # At the limit of a connection it ends with another code.
            _, stderr = process.communicate(timeout=100)
        finally:
            process.kill()
            process.wait()
    assert "Traceback" not in stderr
    assert process.returncode in (130, -signal.SIGINT)


def _root() -> str:
    import plink

    return str(Path(plink.__file__).parents[1])


def is_connected(pid: int, port: int) -> bool:
    """Return whether a process has a connection to a port on loopback."""
    # State 01 of /proc/net/tcp.
    return f"0100007F:{port:04X} 01" in Path(f"/proc/{pid}/net/tcp").read_text()


def test_the_own_key_is_not_for_jump_hosts(tmp_path: Path) -> None:
    key = make_key(tmp_path / "key")
    (tmp_path / "config").write_text("Host far\n  ProxyJump gate\nHost gate\n  IdentityFile /g\n")
    options = SshOptions(config_file=str(tmp_path / "config"), identity_file=str(key))
    target: Target = SshConfig(options).target(ListedHost("far"))
    assert target.identity_files == (str(key),)
    assert (target.jumps[0].identity_files, target.jumps[0].identities_only) == (("/g",), False)
