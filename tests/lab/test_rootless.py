"""The lab of an ordinary user: the same hosts, in namespaces of the user's own."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from labkit.holder import PROGRAM

pytestmark = pytest.mark.lab

# The interpreter of the test run may be in a folder that only its owner may enter.
SYSTEM_PYTHON = shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin") or "python3"
SMALL = ["--racks", "2", "--hosts", "1", "--hops", "1"]
NOBODYS_SHELLS = ("nologin", "false", "sync")


@dataclass(frozen=True)
class User:
    """An ordinary user with an empty folder of its own, and a lab name of its own."""

    name: str
    folder: Path
    lab: str
    become: tuple[str, ...]

    def command(self, *arguments: str) -> list[str]:
        return [*self.become, SYSTEM_PYTHON, PROGRAM[-1], *arguments, "--name", self.lab]

    def run(self, *arguments: str, then: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Run `lab`; `then` comes after the options."""
        return subprocess.run(
            [*self.command(*arguments), *then],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )

    def exec(self, place: str, *argv: str) -> subprocess.CompletedProcess[str]:
        return self.run("exec", then=(place, "--", *argv))

    def keeper(self) -> int:
        (path,) = self.folder.glob(f"run/plink-lab/{self.lab}/keeper.json")
        pid: int = json.loads(path.read_text())["pid"]
        return pid

    def traces(self) -> list[str]:
        """Files and processes that are left."""
        left = [str(path) for path in self.folder.rglob("*") if path.name not in LASTING]
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                line = path.read_bytes()
                if str(self.folder).encode() in line or self.lab.encode() in line:
                    left.append(line.replace(b"\0", b" ").decode())
        return left


LASTING = {"run", "plink-lab", "lock", ".lab"}


@pytest.fixture
def user() -> Iterator[User]:
    folder = Path(tempfile.mkdtemp(prefix="plink-user-"))
    (folder / "run").mkdir()
    environment = ["env", f"XDG_RUNTIME_DIR={folder}/run"]
    if os.geteuid() == 0:
        name, uid, gid = ordinary_account()
        become = ["setpriv", "--reuid", str(uid), "--regid", str(gid), "--clear-groups"]
        for path in (folder, folder / "run"):
            os.chown(path, uid, gid)
    else:
        name, become = pwd.getpwuid(os.geteuid()).pw_name, []
    user = User(name, folder, f"v{os.getpid()}", (*become, *environment))
    try:
        yield user
    finally:
        if user.traces():
            user.run("down")
        shutil.rmtree(folder)


def ordinary_account() -> tuple[str, int, int]:
    for entry in pwd.getpwall():
        if 1000 <= entry.pw_uid < 60_000 and not entry.pw_shell.endswith(NOBODYS_SHELLS):
            return entry.pw_name, entry.pw_uid, entry.pw_gid
    pytest.skip("there is no ordinary user on this machine")


def up(user: User) -> list[str]:
    done = user.run("up", *SMALL)
    assert done.returncode == 0, done.stderr
    return (user.folder / ".lab" / user.lab / "hosts.txt").read_text().split()


def test_hosts_are_hosts_and_nothing_is_left(user: User) -> None:
    one, other = up(user)
    config = f".lab/{user.lab}/ssh_config"
    login = user.exec(".", "ssh", "-F", config, one, "hostname; id -un; getent ahostsv4 " + other)
    truth = json.loads((user.folder / ".lab" / user.lab / "truth.json").read_text())
    name, account, first, *_ = login.stdout.splitlines()
    assert (name, account) == (one, user.name)
    assert first.split()[0] == truth["addresses"][other]

    done = user.exec(one, "sh", "-c", "hostname; id -un; pwd; exit 7")
    assert done.stdout.split() == [one, user.name, str(user.folder)]
    assert done.returncode == 7

    reach = (SYSTEM_PYTHON, "-c", REACH, truth["addresses"][other])
    assert user.exec(one, *reach).stdout == "reached\n"
    assert user.run("stop", other).returncode == 0
    assert user.exec(one, *reach).stdout == "silence\n"
    assert user.run("start", other).returncode == 0
    assert user.exec(one, *reach).stdout == "reached\n"

    assert user.run("set", "r1", "--rate", "70mbit").returncode == 0
    assert "uplink 70mbit" in user.run("status").stdout
    assert not list(Path("/run/netns").glob(f"plink.{user.lab}.*"))

    assert user.run("down").returncode == 0
    assert user.traces() == []
    assert user.run("status").returncode == 1


REACH = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 22), timeout=0.5)
    print("reached")
except TimeoutError:
    print("silence")
"""


def test_a_routed_lab_says_that_it_is(user: User) -> None:
    reach = (SYSTEM_PYTHON, "-c", REACH)
    done = user.run("up", *SMALL, "--routed")
    assert done.returncode == 0, done.stderr
    truth = json.loads((user.folder / ".lab" / user.lab / "truth.json").read_text())
    one, other = truth["hosts"]
    assert user.exec(one, *reach, truth["addresses"][other]).stdout == "reached\n"
    assert user.exec(".", *reach, truth["addresses"][other]).stdout == "reached\n"
    assert "is routed" in user.run("move", then=(one, truth["hosts"][other])).stderr
    assert user.run("down").returncode == 0
    assert user.traces() == []


def test_a_host_moves_and_a_lab_whose_keeper_was_killed_says_so(user: User) -> None:
    reach = (SYSTEM_PYTHON, "-c", REACH)
    one, other = up(user)
    truth_file = user.folder / ".lab" / user.lab / "truth.json"
    truth = json.loads(truth_file.read_text())
    assert user.run("move", then=(one, truth["hosts"][other])).returncode == 0
    assert json.loads(truth_file.read_text())["hosts"][one] == truth["hosts"][other]
    assert user.exec(one, *reach, truth["addresses"][other]).stdout == "reached\n"

    os.kill(user.keeper(), signal.SIGKILL)
    deadline = time.monotonic() + 5
    while "incomplete" not in user.run("status").stdout:
        assert time.monotonic() < deadline
    gone = user.exec(one, "true")
    assert gone.returncode == 1
    assert gone.stderr.startswith("error: ")
    assert "lab down" in gone.stderr
    assert user.run("down").returncode == 0
    assert user.traces() == []


TRIP = """
import socket, sys, time
# The first one asks for the other's address, too.
for _ in range(3):
    began = time.monotonic()
    socket.create_connection((sys.argv[1], 22), timeout=5)
    print(time.monotonic() - began)
"""


@pytest.mark.skipif(not os.access("/dev/net/tun", os.R_OK | os.W_OK), reason="no TAP devices")
def test_regions_far_apart(user: User) -> None:
    done = user.run("up", "--regions", "2x1", "--rtt-ms", "80", "--wan-rate", "50mbit")
    assert done.returncode == 0, done.stderr
    hosts = (user.folder / ".lab" / user.lab / "hosts.txt").read_text().split()
    truth = json.loads((user.folder / ".lab" / user.lab / "truth.json").read_text())
    other = truth["addresses"][hosts[1]]
    trips_s = [
        float(line) for line in user.exec(hosts[0], SYSTEM_PYTHON, "-c", TRIP, other).stdout.split()
    ]
    assert len(trips_s) == 3
    assert min(trips_s) >= 0.08
    assert user.run("down").returncode == 0
    assert user.traces() == []


def test_down_completes_after_a_crash(user: User) -> None:
    with subprocess.Popen(user.command("up", *SMALL), cwd=user.folder, stdout=-3, stderr=-3) as up:
        while not list(user.folder.glob(f"run/plink-lab/{user.lab}/state.json")):
            time.sleep(0.005)
        up.kill()
    assert user.run("down").returncode == 0
    assert user.traces() == []


def test_an_interrupted_up_takes_itself_down(user: User) -> None:
    argv = user.command("up", *SMALL)
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, cwd=user.folder, stdout=pipe, stderr=pipe, text=True) as up:
        while not list(user.folder.glob(f"run/plink-lab/{user.lab}/keeper.json")):
            time.sleep(0.005)
        up.send_signal(signal.SIGTERM)
        _, complaint = up.communicate()
    assert up.returncode == 130
    assert complaint == "error: interrupted\n"
    assert user.traces() == []


def test_a_held_lab_goes_down_at_the_end_of_its_input(user: User) -> None:
    argv = user.command("up", "--hold", *SMALL)
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, cwd=user.folder, stdin=pipe, stdout=pipe, text=True) as up:
        assert up.stdout is not None
        assert "2 hosts" in up.stdout.readline()
        up.communicate()
    assert user.traces() == []


def test_one_sentence_where_the_kernel_forbids_it(user: User) -> None:
    # One user namespace is allowed, and this is it.
    allow_one = "echo 1 > /proc/sys/user/max_user_namespaces && exec unshare --user --map-user=1000"
    argv = ["unshare", "--user", "--map-root-user", "sh", "-c", allow_one + ' -- "$@"', "lab"]
    argv += [SYSTEM_PYTHON, PROGRAM[-1], "up", "--name", user.lab, *SMALL]
    done = subprocess.run(
        [*user.become, *argv], cwd=user.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    first, hint = done.stderr.splitlines()
    assert first.startswith("error: this machine does not let ordinary users create namespaces: ")
    assert hint.startswith("hint: ")
    assert user.traces() == []
