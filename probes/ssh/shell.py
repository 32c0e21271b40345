"""Shell commands that mean the same whatever the user's login shell is."""

from __future__ import annotations

import shlex


def posix_command(script: str, *arguments: str) -> str:
    """The command that runs `script` in a POSIX shell with `arguments` as $1, $2, ..."""
    return " ".join(shlex.quote(word) for word in ("sh", "-c", script, "sh", *arguments))
