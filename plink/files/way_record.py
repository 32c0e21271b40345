"""What a cluster file says of how its hosts were reached: only for the commands that come next.

Nothing that a file says is ever run; a person reads the command first, and types it.
"""

from __future__ import annotations

from typing import Any

from plink.base.errors import WrongUseError
from plink.base.next_command import GivenWay
from plink.files.fields import Fields

_MOST_CHARACTERS = 4096
_SSH = ("config", "identity", "user")


def is_recordable(value: str | None) -> bool:
    """Whether a file may hold this path, name or command: short, and harmless to a terminal."""
    return value is None or (value.isprintable() and 0 < len(value) <= _MOST_CHARACTERS)


def parse(fields: Fields) -> GivenWay | None:
    """What was typed, in the `ssh` and `via` of a cluster file; None where it does not say.

    Raises:
        WrongUseError: a value that no command should hold.
    """
    ssh = fields.optional_object("ssh")
    given = {} if ssh is None else {name: ssh.optional_text(name) for name in _SSH}
    found = GivenWay(**given, via=fields.optional_text("via"))
    for name, value in vars(found).items():
        if not is_recordable(value):
            place = fields.place if ssh is None or name == "via" else ssh.place
            raise WrongUseError(f"{place}: {name} is no printable path or name")
    return found if found.words() else None


def to_json(way: GivenWay | None) -> dict[str, Any]:
    """The keys `ssh` and `via` of a cluster file, where there is something to say."""
    given = {} if way is None else {k: v for k, v in vars(way).items() if v is not None}
    via = {"via": given.pop("via")} if "via" in given else {}
    return {**({"ssh": given} if given else {}), **via}
