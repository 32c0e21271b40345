"""Patterns of OpenSSH (ssh_config(5), PATTERNS): `*` is any text, `?` any character. Pure."""

from __future__ import annotations

import re


def fits(pattern: str, name: str) -> bool:
    """Whether a pattern fits a name, in any case."""
    pattern, name = pattern.lower(), name.lower()
    if "*" not in pattern and "?" not in pattern:
        return pattern == name
    # Not fnmatch: brackets are part of a name with a port.
    runs = re.sub(r"\*+", "*", pattern)
    expression = re.escape(runs).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(expression, name, re.DOTALL) is not None
