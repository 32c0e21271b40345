"""Programs put on a host: where, and that what runs is what was put there."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from plink.probes.echo.coordinator import ECHO_AGENT, Agents
from plink.probes.errors import HostError
from plink.probes.facts import HostFacts
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.reach import ReachedHost
from plink.probes.remote.session import Completed, posix_command
from plink.probes.remote.upload import Program, start_words, upload
from plink.probes.ssh.connect import SshOpener
from support.local_shell import program as command_in
from support.sshd import Sshd

PROGRAM = Program("greeter", b'#!/bin/sh\n[ "$1" = --version ] || echo "good $*"\n')
EVIL = "#!/bin/sh\necho evil\n"
SHELLS = [shell for shell in (["dash"], ["bash"], ["busybox", "sh"]) if shutil.which(shell[0])]
STRANGER = 1234
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can play two users")


class Host:
    """A session whose commands run here, in a shell of one's choice."""

    host = "h"

    def __init__(self, shell: Sequence[str] = ("sh",), path: Path | None = None) -> None:
        self._shell = shell
        self._path = f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]

    def run(self, command: str, stdin: bytes = b"", timeout_s: float = 30.0) -> Completed:
        words = [*self._shell, "-c", command]
        environment = {**os.environ, "PATH": self._path}
        done = subprocess.run(
            words, input=stdin, capture_output=True, timeout=timeout_s, env=environment, check=False
        )
        return Completed(done.returncode, done.stdout, done.stderr.decode().strip())

    def put(self, folder: Path) -> None:
        upload(cast("Any", self), PROGRAM, str(folder))

    def start(self, folder: Path) -> Completed:
        command = start_words(PROGRAM, str(folder), ["a b", "*"])
        # Twice through a shell, as over SSH.
        return self.run(posix_command('exec "$@"', *command))


def as_stranger(script: str, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    user = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups"]
    words = [*user, "sh", "-c", script, "sh", *map(str, arguments)]
    return subprocess.run(words, check=False, capture_output=True)


def open_to_all(tmp_path: Path) -> Path:
    """A folder below others that everybody may go through."""
    for folder in [tmp_path, *tmp_path.parents]:
        if folder == Path(tempfile.gettempdir()):
            break
        folder.chmod(0o755)
    folder = tmp_path / "it's a cache"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize(("mode", "own"), [(0o700, False), (0o755, False), (0o1777, False)])
def test_a_folder_in_which_nobody_else_replaces_files(
    tmp_path: Path, shell: Sequence[str], mode: int, own: bool
) -> None:
    folder = tmp_path / "-c it's"
    folder.mkdir()
    folder.chmod(mode)
    host = Host(shell)
    host.put(folder)
    (stored,) = folder.iterdir()
    assert stored.name == PROGRAM.file_name
    assert stored.stat().st_mode & 0o777 == 0o700
    before = stored.stat().st_ino
    host.put(folder)
    assert stored.stat().st_ino == before
    assert host.start(folder).stdout == b"good a b *\n"


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o2770])
def test_in_a_folder_of_many_it_goes_into_one_of_ones_own(
    tmp_path: Path, shell: Sequence[str], mode: int
) -> None:
    folder = open_to_all(tmp_path)
    folder.chmod(mode)
    host = Host(shell)
    host.put(folder)
    (own,) = folder.iterdir()
    assert own.name == f"plink-{os.geteuid()}"
    assert own.stat().st_mode & 0o777 == 0o700
    assert [file.name for file in own.iterdir()] == [PROGRAM.file_name]
    assert host.start(folder).stdout == b"good a b *\n"


@pytest.mark.parametrize("change", ["append", "writable", "link", "gone"])
def test_what_is_not_what_was_put_there_does_not_run(tmp_path: Path, change: str) -> None:
    host, folder = Host(), tmp_path / "cache"
    host.put(folder)
    stored = folder / PROGRAM.file_name
    if change == "append":
        stored.write_text(EVIL)
    elif change == "writable":
        stored.chmod(0o777)
    elif change == "link":
        stored.rename(tmp_path / "elsewhere")
        stored.symlink_to(tmp_path / "elsewhere")
    else:
        stored.unlink()
    done = host.start(folder)
    assert (done.status, done.stdout) == (126, b"")
    assert done.stderr == "the program is not what was put there"
    host.put(folder)
    assert host.start(folder).stdout == b"good a b *\n"


@as_root
@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_file_replaced_between_check_and_start_does_not_run(
    tmp_path: Path, shell: Sequence[str]
) -> None:
    found = subprocess.run([*shell, "-c", "command -v sha256sum"], capture_output=True, check=True)
    if not found.stdout.startswith(b"/"):
        pytest.skip(f"{' '.join(shell)} has its own sha256sum, which nothing here can hold up")
    folder = open_to_all(tmp_path)
    os.chown(folder, STRANGER, STRANGER)
    (tmp_path / "evil").write_text(EVIL)
    (tmp_path / "evil").chmod(0o755)
    # The stranger acts at the very moment at which the content has just been read: every file of
    # that name is replaced, and so is every folder, as far as they may.
    attack = (
        'cd "$1"; for f in */"$2" "$2"; do cp "$3" "$f.x" && mv -f "$f.x" "$f"; done; '
        'for d in plink-*; do mv "$d" "gone-$$"; mkdir "$d"; cp "$3" "$d/$2"; done'
    )
    place = f"{folder}".replace("'", "'\\''")
    script = (
        f"PATH=${{PATH#*:}}; sha256sum; setpriv --reuid={STRANGER} --regid={STRANGER} "
        f"--clear-groups sh -c '{attack}' sh '{place}' {PROGRAM.file_name} {tmp_path}/evil "
        # A shell becomes the last command of its script: `true` keeps it, and with it the output
        # that the start waits for, until the attack is over.
        "2>&- >&-; true"
    )
    disturbed = Host(shell, command_in(tmp_path / "bin", "sha256sum", script))
    Host(shell).put(folder)
    assert disturbed.start(folder).stdout == b"good a b *\n"
    # Now the stranger's own folder is in the way, with the right name.
    assert any((folder / "plink-0").iterdir())
    done = Host(shell).start(folder)
    assert (done.status, done.stdout) == (126, b"")
    with pytest.raises(HostError, match="is open to others, and its plink-0 too"):
        Host(shell).put(folder)


@as_root
def test_a_strangers_file_in_a_sticky_folder_is_not_used(tmp_path: Path) -> None:
    folder = open_to_all(tmp_path)
    folder.chmod(0o1777)
    (tmp_path / "good").write_bytes(PROGRAM.content)
    as_stranger('cp "$1" "$2"; chmod 755 "$2"', tmp_path / "good", folder / PROGRAM.file_name)
    assert (folder / PROGRAM.file_name).stat().st_uid == STRANGER
    assert Host().start(folder).status == 126
    Host().put(folder)  # root may replace it
    assert (folder / PROGRAM.file_name).stat().st_uid == 0


class Disturbed(Agents):
    """Agents whose files a stranger replaces once all are deployed."""

    disturb: Callable[[], object]

    def start_programs(self, commands: Mapping[int, str], concurrency: int) -> dict[int, HostError]:
        self.disturb()
        return super().start_programs(commands, concurrency)


@as_root
@pytest.mark.timing
def test_over_a_real_sshd_a_strangers_agent_is_never_started(sshd: Sshd, tmp_path: Path) -> None:
    folder = open_to_all(tmp_path)
    os.chown(folder, STRANGER, STRANGER)
    options = sshd.options()
    connector = SshOpener(options)
    session = connector.connect(sshd.target(options))
    facts = HostFacts(os.uname().machine, "here", 2, ())
    host = ReachedHost(ListedHost("here"), session, facts, "127.0.0.1")

    def replace_all() -> None:
        as_stranger(
            'cd "$1"; for f in plink-echo-agent-* plink-0/*; do rm -f "$f"; '
            'cp "$2" "$f"; chmod 755 "$f"; done',
            folder,
            tmp_path / "evil",
        )

    (tmp_path / "evil").write_text('#!/bin/sh\ntouch "${0%/*}/ran"\necho evil\n')
    with Disturbed([host], ECHO_AGENT, str(folder)) as agents:
        agents.disturb = replace_all  # type: ignore[method-assign]
        assert agents.start(1) == {}
        agents.send(0, "alive\n")
        heard = agents.receive(5)
    connector.close()
    assert not list(folder.rglob("ran"))
    assert heard is not None
    assert "evil" not in str(heard[1])
