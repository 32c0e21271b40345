"""The remote shell command of a rank: it ends, with all it started, when its input does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probes.ssh.shell import posix_command

# $1 is the folder, the rest are words for env(1). The job leads a session of its own, so that one
# signal reaches all of it; what is left of it when the leader ends is ended as well. SIGKILL comes
# where SIGTERM does not help. The watcher keeps neither output open, or SSH would wait for it.
_SCRIPT = """\
folder=$1
shift
exec 3<&0
setsid sh -c 'cd "$1" 2>/dev/null; shift; exec env "$@" 2>&1' sh "$folder" "$@" </dev/null 3<&- &
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


def rank_command(folder: str, environment: Mapping[str, str], words: Sequence[str]) -> str:
    """What a host runs for one rank.

    Args:
        folder: where the job starts, if the host has it; else in the user's home.
        environment: is added to what the host gives.
        words: the program and its arguments.
    """
    assignments = [f"{name}={value}" for name, value in environment.items()]
    return posix_command(_SCRIPT, folder, *assignments, *words)
