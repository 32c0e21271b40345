"""Putting the echo agent on a host: once, under its content's hash, in the user's own cache."""

from __future__ import annotations

import hashlib
import platform
import shlex
from functools import cache
from pathlib import Path

from probes.errors import HostError, OptionError
from probes.facts import HostFacts
from probes.ssh.session import Session
from probes.ssh.shell import posix_command

_AGENT_FILE = Path(__file__).parent / "bin" / "plink-echo-agent"
_UPLOAD_TIMEOUT_S = 60.0

# $1 is the file's name, $2 a folder to use instead of the cache. Prints the file's path, alone.
_SET_FOLDER = "d=${2:-${XDG_CACHE_HOME:-$HOME/.cache}/plink}; f=$d/$1; "
_FIND = _SET_FOLDER + 'if [ -x "$f" ]; then echo "$f"; fi'
_UPLOAD = (
    _SET_FOLDER + 'umask 077; mkdir -p "$d" || exit 1; '
    't=$(mktemp "$d/.upload.XXXXXX") || exit 1; trap \'rm -f "$t"\' EXIT; '
    'cat > "$t" && chmod 700 "$t" && "$t" --version > /dev/null && mv "$t" "$f" && echo "$f"'
)


def deploy(session: Session, facts: HostFacts, cache_folder: str | None) -> str:
    """Make sure that the agent is on the host.

    Args:
        cache_folder: where to put it instead of `~/.cache/plink`, or None.

    Returns:
        Its path there.

    Raises:
        HostError: another processor, no space, no folder that programs may run from, ...
    """
    if facts.architecture != platform.machine():
        raise HostError(
            session.host,
            f"its processor is {facts.architecture}, and the echo agent is for "
            f"{platform.machine()}",
            "use --tool fping",
        )
    place = (f"plink-echo-agent-{_content_hash()}", cache_folder or "")
    found = session.run(posix_command(_FIND, *place))
    path = found.stdout.decode(errors="replace").strip()
    if path:
        return path
    done = session.run(posix_command(_UPLOAD, *place), _content(), _UPLOAD_TIMEOUT_S)
    path = done.stdout.decode(errors="replace").strip()
    if done.status != 0 or not path:
        reason = done.stderr.splitlines()[-1] if done.stderr else f"exit status {done.status}"
        raise HostError(
            session.host,
            f"the echo agent cannot be put there ({reason})",
            "name a folder that programs may run from with --remote-cache",
        )
    return path


def start_command(path: str) -> str:
    """The shell command that starts the agent at `path`."""
    return f"exec {shlex.quote(path)}"


@cache
def _content() -> bytes:
    try:
        return _AGENT_FILE.read_bytes()
    except OSError:
        raise OptionError(
            f"the echo agent is not part of this installation ({_AGENT_FILE})",
            "reinstall plink, or use --tool fping",
        ) from None


@cache
def _content_hash() -> str:
    return hashlib.sha256(_content()).hexdigest()[:16]
