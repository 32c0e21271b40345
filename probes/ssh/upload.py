"""Putting a program on a host: once, under its content's hash, in the user's own cache."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from probes.errors import HostError
from probes.ssh.session import Session, posix_command

_TIMEOUT_S = 60.0
# What a login shell prints by itself stands before this.
_MARK = "plink-program:"

# $1: file name; $2: folder, or empty for the cache; $3: SHA-256; $4: size in bytes. A file of that
# name is used only if it is the user's own, no link, and holds what it should: others may be able
# to write into the folder.
_SET = "d=${2:-${XDG_CACHE_HOME:-$HOME/.cache}/plink}; f=$d/$1; "
_HOLDS = (
    'holds() { [ "$(wc -c < "$1")" -eq "$2" ] && if command -v sha256sum > /dev/null; '
    'then [ "$(sha256sum < "$1" | cut -c1-64)" = "$3" ]; fi; }; '
)
_FIND = (
    _SET + _HOLDS + 'if [ -f "$f" ] && [ ! -L "$f" ] && [ -O "$f" ] && [ -x "$f" ] && '
    f'holds "$f" "$4" "$3"; then echo "{_MARK}$f"; fi'
)
_UPLOAD = (
    _SET
    + _HOLDS
    + 'umask 077; mkdir -p "$d" || exit 1; t=$(mktemp "$d/.upload.XXXXXX") || exit 1; '
    "trap 'rm -f \"$t\"' EXIT; trap 'exit 1' HUP INT TERM; "
    'cat > "$t" || exit 1; holds "$t" "$4" "$3" || { echo "only a part arrived" >&2; exit 1; }; '
    f'chmod 700 "$t" && "$t" --version > /dev/null && mv "$t" "$f" && echo "{_MARK}$f"'
)


@dataclass(frozen=True)
class Program:
    """An executable that answers `--version`.

    Args:
        name: what it is called; the file's name has the hash of the content behind it.
        content: the executable file.
    """

    name: str
    content: bytes

    @property
    def digest(self) -> str:
        """The content's SHA-256 in hexadecimal digits."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def file_name(self) -> str:
        """The file's name on every host."""
        return f"{self.name}-{self.digest[:16]}"


def upload(session: Session, program: Program, folder: str | None) -> str:
    """Make sure that a program is on the host, and that it runs there.

    Args:
        folder: where to put it instead of `~/.cache/plink`, or None.

    Returns:
        Its path on the host.

    Raises:
        HostError: no space, no folder that programs may run from, ...
    """
    arguments = (program.file_name, folder or "", program.digest, str(len(program.content)))
    found = session.run(posix_command(_FIND, *arguments))
    path = _path_in(found.stdout)
    if path is not None:
        return path
    done = session.run(posix_command(_UPLOAD, *arguments), program.content, _TIMEOUT_S)
    path = _path_in(done.stdout)
    if done.status != 0 or path is None:
        reason = done.stderr.splitlines()[-1] if done.stderr else f"exit status {done.status}"
        raise HostError(
            session.host,
            f"{program.name} cannot be copied there ({reason})",
            "name a folder that programs may run from with remote_cache=DIR",
        )
    return path


def _path_in(output: bytes) -> str | None:
    for line in reversed(output.decode(errors="replace").splitlines()):
        if line.startswith(_MARK):
            return line.removeprefix(_MARK)
    return None
