"""The commands that a person is told to type next: put together here, and nowhere else."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from msgspec import Struct

# A file on standard input has no name that a later command could give.
UNNAMED_FILE = "FILE"

# The verbs that reach hosts, and so have the options of `GivenWay`.
REACHING = ("probe", "check", "doctor", "verify", "run", "bench", "fit", "autotune serve")


class GivenWay(Struct, frozen=True, forbid_unknown_fields=True):
    """What plink had to be told to reach the hosts, as it was typed.

    Attributes:
        config: SSH configuration (`-F`)
        identity: private key (`-i`)
        user: user for hosts whose line in the host list names none (`--user`)
        via: command that leads into hosts, in place of SSH (`--via`)
    """

    config: str | None = None
    identity: str | None = None
    user: str | None = None
    via: str | None = None

    def words(self) -> list[str]:
        """The options and their values."""
        options = (
            ("-F", self.config),
            ("-i", self.identity),
            ("--user", self.user),
            ("--via", self.via),
        )
        return [word for option, value in options if value is not None for word in (option, value)]


def next_command(verb: str, *words: str, way: GivenWay | Sequence[str] | None = None) -> str:
    """The shell line `plink VERB WORDS...`, quoted, with what reaches the same hosts.

    Args:
        verb: of plink.
        words: as plink is to get them.
        way: how the hosts were reached, or options that say it; left out for a verb that reaches
            none.
    """
    reaching = way.words() if isinstance(way, GivenWay) else way or ()
    options = reaching if verb in REACHING else ()
    return f"plink {verb} {shlex.join([*words, *options])}".rstrip()
