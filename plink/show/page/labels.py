"""Short but distinct host names for figures."""

from __future__ import annotations

from collections.abc import Sequence

from plink.show.page.parts import plotly_text

# More letters take a third of a picture on a narrow screen.
LONGEST = 16
_CUT = "…"


def short_names(names: Sequence[str]) -> list[str]:
    """Return long names without the words that they all begin or end with.

    Args:
        names: distinct.
    """
    if all(len(name) <= LONGEST for name in names):
        return list(names)
    begin, end = _shared_prefix_length(names), _shared_prefix_length([name[::-1] for name in names])
    found = []
    for place, name in enumerate(names):
        rest = name[begin : len(name) - end]
        text = f"{_CUT if begin else ''}{rest}{_CUT if end else ''}"
        if not rest or len(text) > LONGEST:
            number = f"{_CUT}{place + 1}"
            text = f"{name[begin : begin + LONGEST - len(number)]}{number}"
        found.append(text)
    # Whether a cut one is another's whole name by chance, which numbers never are.
    return found if len(set(found)) == len(found) else [f"{_CUT}{n + 1}" for n in range(len(names))]


def shortening_note(names: Sequence[str]) -> str:
    """Return a sentence on what short names omit; empty if they omit nothing."""
    short = short_names(names)
    changed = [pair for pair in zip(short, names, strict=True) if pair[0] != pair[1]]
    if not changed:
        return ""
    return f"Names in pictures are short: {changed[0][0]} is {changed[0][1]}."


def plotly_names(names: Sequence[str]) -> list[str]:
    """Return short names escaped for plotly.js."""
    return [plotly_text(name) for name in short_names(names)]


def _shared_prefix_length(names: Sequence[str]) -> int:
    """Return the length of the common prefix, up to the end of a word."""
    if len(names) < 2:
        return 0
    # Between the first and the last in sorted order lie all others.
    first, last = min(names), max(names)
    pairs = zip(first, last, strict=False)
    same = next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(first), len(last)))
    while same and first[same - 1].isalnum():
        same -= 1
    return same
