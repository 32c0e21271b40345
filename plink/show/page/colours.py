"""Colours and symbols of groups: both differ, so that no reader depends on colour alone."""

from __future__ import annotations

# Okabe and Ito, "Color Universal Design" (2008), without black and yellow, which one of a light
# and a dark page hides.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
_CYCLE = 24

NO_GROUP = -1
NO_GROUP_COLOUR = "#8c8c8c"

WITHIN = "#0072b2"
BETWEEN = "#d55e00"


def group_colour(shade: int) -> str:
    """A colour for each number (`Subject.shade_of`); -1 is no group."""
    return NO_GROUP_COLOUR if shade == NO_GROUP else _COLOURS[shade % len(_COLOURS)]


def group_symbol(shade: int) -> str:
    """A symbol for each number: with the colour, distinct for 48 of them."""
    if shade == NO_GROUP:
        return "circle-open"
    return _SYMBOLS[(shade + shade // _CYCLE) % len(_SYMBOLS)]
