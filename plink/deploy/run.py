"""Run a job on hosts: one process per rank, in an order's rank order; all end if one fails."""

from __future__ import annotations

import queue
import re
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from plink.base.interrupts import ignore_interrupts
from plink.deploy.launchers.environment import torch_environments
from plink.formats.hosts import Host
from plink.probes.errors import HostError
from plink.probes.remote.session import RemoteProcess, Session, posix_command

# $1 says what to do without the folder $2, the rest are words for env(1). The environment comes
# over standard input, as lines of shell up to an empty one: on a command line everybody on the host
# could read it. The shells hand it on by what is built into them, and through a pipe. The inner one
# keeps nothing in variables, whose names the environment may have, too: $1 is a line's end there.
#
# The job leads a session of its own, so that one signal reaches all of it; what is left of it when
# the leader ends is ended as well. SIGKILL comes where SIGTERM does not help. The watcher keeps
# neither output open, or SSH would wait for it.
_SCRIPT = """\
missing=$1 folder=$2 settings=
shift 2
while :; do
    IFS= read -r line || exit 1
    [ -n "$line" ] || break
    settings="$settings$line
"
done
if ! [ -d "$folder" ] && [ "$missing" = refuse ]; then
    echo "there is no folder $folder"
    exit 1
fi
exec 3<&0
printf '%s' "$settings" | setsid sh -c '
cd "$1" 2>/dev/null
shift
set -- "
" "$(command -v env)" "$@"
eval "$(cat)"
shift
exec "$@" </dev/null 2>&1
' sh "$folder" "$@" 3<&- &
job=$!
{ cat <&3; kill -s TERM -- "-$job"; sleep 5; kill -s KILL -- "-$job"; } >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait "$job"
status=$?
kill "$watcher" 2>/dev/null
kill -s KILL -- "-$job" 2>/dev/null
exit "$status"
"""

# Remote ranks get 5 s after SIGTERM.
_END_LIMIT_S = 7.0
_STATUS_LIMIT_S = 5.0

# A longer line comes in pieces: a job's output is shown, never kept.
MAX_LINE = 1 << 14

# Progress bars end their lines with a carriage return.
_END = re.compile(rb"\r\n|\n|\r")


def rank_environments(
    hosts: Sequence[Host], interfaces: Mapping[str, str], master_port: int, extra: Mapping[str, str]
) -> list[dict[str, str]]:
    """Return each rank's environment variables for PyTorch (`env://`), Gloo and NCCL.

    Args:
        hosts: in rank order, with their traffic addresses, and as many slots as ranks in a row.
        interfaces: by a host's name, the network interface with that address; empty where unknown.
        master_port: where rank 0 listens.
        extra: variables of the user's, which win.

    Raises:
        WrongUseError: a host's name is not a host name, or rank 0 has no address.
    """
    found = []
    for place, words in torch_environments(hosts, "plink run"):
        values = dict(word.split("=", 1) for word in words)
        values["MASTER_PORT"] = str(master_port)
        if interface := interfaces[place.host.name]:
            # With `=`, NCCL takes the name as a whole.
            values |= {"GLOO_SOCKET_IFNAME": interface, "NCCL_SOCKET_IFNAME": f"={interface}"}
        found.append({**values, **extra})
    return found


def rank_command(folder: str, words: Sequence[str], *, is_required: bool = False) -> str:
    """Return the shell command of one rank; it ends with all its children when its input closes.

    It waits for its environment first (`rank_settings`).

    Args:
        folder: where the job starts, if the host has it; else in the user's home.
        words: the program and its arguments.
        is_required: the rank fails where the host lacks the folder.
    """
    return posix_command(_SCRIPT, "refuse" if is_required else "home", folder, *words)


def rank_settings(environment: Mapping[str, str]) -> str:
    """Return the shell lines, for a rank's standard input, that export its environment."""
    lines = [
        f"export {name}={shlex.quote(value)}".replace("\n", "'\"$1\"'")
        for name, value in environment.items()
    ]
    return "".join(f"{line}\n" for line in [*lines, ""])


@dataclass(frozen=True)
class EndedRank:
    """End of a rank's process: its exit status, or the reason why it has none."""

    rank: int
    host: str
    status: int | None
    reason: str | None = None

    @property
    def is_failure(self) -> bool:
        """Whether the rank did not exit with status 0, so that the job fails."""
        return self.status != 0


def run_job(
    sessions: Sequence[Session],
    command: str,
    settings: Sequence[str],
    on_line: Callable[[int, str], None],
) -> EndedRank | None:
    """Run a command as every rank until all have ended or one has failed; return that one, or None.

    An exception, Ctrl-C above all, ends all of them.

    Args:
        sessions: one for each rank, to its host.
        command: command of the shell (`rank_command`).
        settings: settings of each rank (`rank_settings`).
        on_line: called with a rank and a line of its output, from one thread at a time.

    Returns:
        The first rank that failed, None where none did.

    Raises:
        HostError: a rank could not be started.
    """
    lock = threading.Lock()
    ended: queue.Queue[EndedRank] = queue.Queue()
    processes: list[RemoteProcess] = []
    threads: list[threading.Thread] = []

    def pass_on(rank: int, line: str) -> None:
        with lock:
            on_line(rank, line)

    try:
        for rank, (session, text) in enumerate(zip(sessions, settings, strict=True)):
            process = session.start(command)
            processes.append(process)
            thread = threading.Thread(
                target=lambda *given: ended.put(_follow(*given)),
                args=(rank, process, pass_on),
                daemon=True,
            )
            threads.append(thread)
            thread.start()
            # Where it takes nothing it has ended, and its thread says why.
            with suppress(HostError):
                process.write(text)
        for _ in processes:
            first = ended.get()
            if first.is_failure:
                return first
        return None
    finally:
        with ignore_interrupts():
            _end(processes, threads)


def _follow(rank: int, process: RemoteProcess, pass_on: Callable[[int, str], None]) -> EndedRank:
    splitter = LineSplitter()
    try:
        for chunk in process.chunks():
            for line in splitter.feed(chunk):
                pass_on(rank, line)
        for line in splitter.end():
            pass_on(rank, line)
        status = process.wait_for_exit(_STATUS_LIMIT_S)
    except (HostError, OSError) as error:
        return EndedRank(rank, process.host, None, str(error))
    if status is None or status < 0:
        return EndedRank(rank, process.host, None, "was killed, or the connection was lost")
    return EndedRank(rank, process.host, status)


def _end(processes: Sequence[RemoteProcess], threads: Sequence[threading.Thread]) -> None:
    """End all ranks by closing their standard input, and wait until they have exited."""
    for process in processes:
        process.end_input()
    for thread in threads:
        thread.join(_END_LIMIT_S)
    for process in processes:
        process.close()


class LineSplitter:
    """Splitter of a rank's output, which arrives in chunks of bytes, into lines of text."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[str]:
        """Return the lines that a chunk of bytes completes, without line ends."""
        *lines, self._rest = _END.split(self._rest + chunk)
        while len(self._rest) > MAX_LINE:
            lines.append(self._rest[:MAX_LINE])
            self._rest = self._rest[MAX_LINE:]
        return [_text(line) for line in lines]

    def end(self) -> list[str]:
        """Return the last line, if it has no line end, once the output has ended."""
        rest, self._rest = self._rest, b""
        return [_text(rest)] if rest else []


def _text(line: bytes) -> str:
    return line.decode(errors="replace")
