"""Formatting in roff, the language of manual pages (groff_man(7), mandoc_roff(7)): ASCII alone."""

from __future__ import annotations

import re
import textwrap

_WIDTH = 78
# What roff would draw as something else: hyphens, typographic quotes, accents.
_DRAWN = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}
_CODE = re.compile(r"`([^`]+)`")
_TERM = re.compile(r"(?<![\w-])(--?[a-zA-Z][\w-]*)")


def escape_text(text: str) -> str:
    """Return text escaped so that roff prints it literally."""
    return "".join(
        _DRAWN.get(letter) or (letter if letter.isascii() else rf"\[u{ord(letter):04X}]")
        for letter in text
    )


def bold(text: str) -> str:
    """Return roff for bold text."""
    return rf"\fB{escape_text(text)}\fR"


def prose(text: str) -> str:
    """Return roff for a paragraph in short lines, with text in backquotes in bold."""
    parts = _CODE.split(text)
    roff = "".join(
        bold(part) if place % 2 else escape_text(part) for place, part in enumerate(parts)
    )
    return wrap_lines(roff)


def wrap_lines(roff: str) -> str:
    """Return roff text in short lines, none of which reads as a roff command."""
    lines = textwrap.wrap(roff, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(rf"\&{line}" if line[:1] in (".", "'") else line for line in lines)


def term(text: str) -> str:
    """Return roff for an entry of an option list, such as `-o, --output FILE`, names in bold."""
    parts = _TERM.split(text)
    return "".join(
        bold(part) if place % 2 else escape_text(part) for place, part in enumerate(parts)
    )


def paragraphs(text: str) -> str:
    """Return roff for several paragraphs that empty lines separate."""
    return "\n.PP\n".join(prose(" ".join(each.split())) for each in text.split("\n\n"))
