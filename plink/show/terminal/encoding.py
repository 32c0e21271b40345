"""Output that has no `µ` and no bars gets what comes closest, never an error."""

from __future__ import annotations

import codecs
from io import TextIOWrapper
from typing import TextIO

_ERRORS = "plink.nearest"
# One character for one, or tables would lose their columns.
_NEAREST = str.maketrans("µ–→·×…█▓▒░▁▂▃▄▅▆▇", "u->:x~#+-..,-=+*%")


def tolerate(stream: TextIO) -> None:
    """Let `stream` take any text, whatever its encoding."""
    if isinstance(stream, TextIOWrapper):
        codecs.register_error(_ERRORS, _nearest)
        stream.reconfigure(errors=_ERRORS)


def _nearest(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_NEAREST)
    return "".join(letter if letter.isascii() else "?" for letter in text), error.end
