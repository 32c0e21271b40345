"""Upload of a program to a host, once, into the user's cache under the content's hash."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from plink.probes.errors import HostError
from plink.probes.remote.session import Session, posix_command

_TIMEOUT_S = 60.0
# What a login shell prints by itself stands before this.
_MARK = "plink-program:"

# $1: file name; $2: folder, or empty for the cache; $3: SHA-256; $4: size in bytes; then the
# program's own words.
#
# Others may be able to write into the folder, or into those above it. So the shell goes into it and
# looks at where it is, not at a path that may soon lead elsewhere: a folder that is the user's or
# root's, in which nobody else can replace a file, or else one of the user's own in it. From there
# the program is checked and started by its bare name: what runs is what was checked.
_SET = (
    "n=$1; d=${2:-${XDG_CACHE_HOME:-$HOME/.cache}/plink}; sum=$3; size=$4; shift 4; CDPATH=; "
    "me=$(id -u); "
    # Whether a folder or file is the user's or root's, and nobody else's to change.
    'closed() { set -- $(ls -ldn "$1"); case ${3:-nobody} in "$me" | 0) ;; *) return 1 ;; esac; '
    "case $1 in d????????[tT]*) ;; ?????w* | ????????w*) return 1 ;; esac; }; "
    'private() { set -- $(ls -ldn .); [ "$3" = "$me" ] && '
    "case $1 in d???--[-S]--[-T]*) ;; *) false ;; esac; }; "
    'enter() { cd -P -- "$d" && { closed . || '
    '{ { [ -d "plink-$me" ] || mkdir -m 700 "plink-$me"; } && cd -P "./plink-$me" && '
    '{ private || { echo "$d is open to others, and its plink-$me too" >&2; false; }; }; }; }; }; '
    'holds() { [ -f "$1" ] && [ ! -L "$1" ] && closed "$1" && [ "$(wc -c < "$1")" -eq "$size" ] && '
    'if command -v sha256sum > /dev/null; then s=$(sha256sum < "$1"); [ "${s%% *}" = "$sum" ]; '
    "fi; }; "
)
_FIND = _SET + f'enter 2> /dev/null && [ -x "./$n" ] && holds "./$n" && echo "{_MARK}$n"'
_UPLOAD = (
    _SET
    + 'umask 077; mkdir -p -- "$d" && enter || exit 1; t=$(mktemp ./.upload.XXXXXX) || exit 1; '
    "trap 'rm -f \"$t\"' EXIT; trap 'exit 1' HUP INT TERM; "
    'cat > "$t" || exit 1; holds "$t" || { echo "only a part arrived" >&2; exit 1; }; '
    'chmod 700 "$t" && "$t" --version > /dev/null && mv -f "$t" "./$n" || exit 1; '
    f'holds "./$n" || {{ echo "$n is somebody else\'s there" >&2; exit 1; }}; echo "{_MARK}$n"'
)
_START = (
    _SET
    + 'enter && holds "./$n" || { echo "the program is not what was put there" >&2; exit 126; }; '
)

# How a program is started: "$f" is the program, "$@" its words.
EXEC = 'exec "$f" "$@"'


@dataclass(frozen=True)
class Program:
    """Executable that plink uploads to hosts, under a name; it answers `--version`."""

    name: str
    content: bytes

    @property
    def digest(self) -> str:
        """SHA-256 of the executable in hexadecimal digits."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def file_name(self) -> str:
        """Name of the uploaded executable on every host."""
        return f"{self.name}-{self.digest[:16]}"


def upload(session: Session, program: Program, folder: str | None) -> None:
    """Upload a program to a host's cache folder unless it is there, and check that it runs.

    Args:
        folder: where to put it instead of `~/.cache/plink`, or None. Where others may write there,
            it goes into a folder of the user's own in it.
    """
    words = _words(program, folder)
    if _is_marked(session.run(posix_command(_FIND, *words)).stdout):
        return
    done = session.run(posix_command(_UPLOAD, *words), program.content, _TIMEOUT_S)
    if done.status != 0 or not _is_marked(done.stdout):
        reason = done.stderr or f"exit status {done.status}"
        raise HostError(
            session.host,
            f"{program.name} cannot be copied there ({reason})",
            "choose another remote cache folder, on a file system without noexec",
            ["remote_cache"],
        )


def start_words(
    program: Program, folder: str | None, arguments: Sequence[str] = (), start: str = EXEC
) -> list[str]:
    """Return the command that checks an uploaded program by its hash and starts it."""
    return ["sh", "-c", f"{_START}f=./$n; {start}", "sh", *_words(program, folder), *arguments]


def _words(program: Program, folder: str | None) -> tuple[str, ...]:
    return (program.file_name, folder or "", program.digest, str(len(program.content)))


def _is_marked(output: bytes) -> bool:
    return any(line.startswith(_MARK) for line in output.decode(errors="replace").splitlines())
