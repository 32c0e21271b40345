"""Builder of the commands that messages suggest to type next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from plink.base.given_way import GivenWay

# A file on standard input has no name that a later command could give.
UNNAMED_FILE = "FILE"

# The verbs that reach hosts, and so have the options of `GivenWay`.
REACHING = ("probe", "check", "doctor", "verify", "run", "bench", "fit", "autotune serve")


def next_command(verb: str, *words: str, way: GivenWay | Sequence[str] | None = None) -> str:
    """Return the shell line `plink VERB WORDS...` to suggest, with options to reach hosts.

    Args:
        verb: verb of plink.
        words: as plink is to get them.
        way: how the hosts were reached, or options that say it; left out for a verb that reaches
            none.
    """
    reaching = way if way is None or isinstance(way, Sequence) else way.words()
    options = reaching or () if verb in REACHING else ()
    return f"plink {verb} {shlex.join([*words, *options])}".rstrip()
