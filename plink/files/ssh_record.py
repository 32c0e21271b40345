"""What a cluster file says of how SSH reached its hosts: only for the commands that come next."""

from __future__ import annotations

from plink.base.errors import WrongUseError
from plink.base.next_command import GivenSsh
from plink.files.fields import Fields

_MOST_CHARACTERS = 4096


def is_recordable(value: str | None) -> bool:
    """Whether a file may hold this path or name: short, and harmless to a terminal."""
    return value is None or (value.isprintable() and 0 < len(value) <= _MOST_CHARACTERS)


def parse(fields: Fields | None) -> GivenSsh | None:
    """What was typed; None where the file does not say.

    Raises:
        WrongUseError: a value that no command should hold.
    """
    if fields is None:
        return None
    found = GivenSsh(*(fields.optional_text(name) for name in ("config", "identity", "user")))
    for name, value in vars(found).items():
        if not is_recordable(value):
            raise WrongUseError(f"{fields.place}: {name} is no printable path or name")
    return found if found.words() else None
