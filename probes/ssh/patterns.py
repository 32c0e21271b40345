"""OpenSSH patterns (ssh_config(5), PATTERNS): `*` is any text, `?` any character. Pure."""

from __future__ import annotations

import fnmatch


def fits(pattern: str, name: str) -> bool:
    """Return whether a pattern matches a name, ignoring case."""
    # Brackets are part of a name with a port. A regular expression with as many stars could take
    # for ever; fnmatch never goes back behind a star.
    return fnmatch.fnmatchcase(name.lower(), pattern.lower().replace("[", "[[]"))
