"""Heat map of a matrix of distances in the terminal.

Three pens: `blocks` (colour, a cell is two characters wide), `halves` (colour, two cells a
character, one above the other) and `shades` (no colour, a cell is two characters wide).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from plink.base.text import rtt_text
from plink.formats.matrices import Matrix, median_blocks
from plink.show.scale import Scale, colour, shade

_MISSING = "×"
_MISSING_COLOUR = "#d1495b"
_SELF = "·"
_MAX_LABEL = 16
# More rows than this make a picture that no screen shows at once.
_MAX_LINES = 40
_MAX_BLOCKS = 24
_LEGEND_STEPS = 24


@dataclass(frozen=True)
class Picture:
    """Heat map for the terminal: its lines, their width, and the number of hosts per cell."""

    lines: Sequence[Text]
    width: int
    hosts_per_cell: int


def draw(
    readings_us: Matrix,
    names: Sequence[str],
    order: Sequence[int],
    scale: Scale,
    *,
    width: int,
    shades: str | None = None,
) -> Picture:
    """Draw a heat map of a matrix for the terminal, rows and columns in `order`.

    Args:
        readings_us: (N, N), [source][destination], NaN where not measured.
        names: N host names, in the matrix's order.
        order: a permutation of 0 ... N-1.
        scale: what colour a value gets.
        width: the picture is at most this many columns wide; from 10.
        shades: characters from near to far where there is no colour.
    """
    label_width = min(_MAX_LABEL, width // 4, max(cell_len(name) for name in names))
    room = width - label_width - 1
    is_small = len(names) <= min(_MAX_BLOCKS, room // 2)
    if shades is not None:
        limit = min(room // 2, _MAX_LINES)
    else:
        limit = room // 2 if is_small else min(room, 2 * _MAX_LINES)
    size = _choose_bin_size(len(order), max(1, limit))
    cells = median_blocks(readings_us, order, size)
    labels = [names[host] for host in order[::size]]
    if shades is not None or is_small:
        rows = _wide_rows(cells, scale, shades)
    else:
        rows, labels = _halves(cells, scale), labels[::2]
    lines = []
    for label, row in zip(labels, rows, strict=True):
        name = Text(label, "dim")
        name.truncate(label_width, overflow="ellipsis", pad=True)
        lines.append(Text.assemble(name, (" ", "dim"), row))
    return Picture(lines, max(line.cell_len for line in lines), size)


def legend(scale: Scale, *, has_gaps: bool, shades: str | None = None) -> Text:
    """Return a line that says which times the colours or shades of a heat map stand for."""
    text = Text()
    if shades is None:
        text.append(f"{rtt_text(scale.low)} ")
        for step in range(_LEGEND_STEPS):
            first, second = ((2 * step + half) / (2 * _LEGEND_STEPS - 1) for half in (0, 1))
            text.append("▌", Style(color=colour(first), bgcolor=colour(second)))
        text.append(f" {rtt_text(scale.high)}")
    else:
        bounds = [rtt_text(scale.at(step / len(shades))) for step in range(1, len(shades))]
        levels = (f"{mark * 2} {bound}" for mark, bound in zip(shades, bounds, strict=False))
        text.append(f"up to {' '.join(levels)}, blank: more")
    if has_gaps:
        mark = ("██", _MISSING_COLOUR) if shades is None else (_MISSING * 2, "")
        text.append("  ").append(*mark).append(" not measured")
    return text


def _choose_bin_size(hosts: int, limit: int) -> int:
    """Return how many hosts share a row and column so that at most `limit` rows are needed."""
    least = math.ceil(hosts / limit)
    # A size that divides the number of hosts is likelier to divide their racks.
    return next((n for n in range(least, least + least // 4 + 1) if hosts % n == 0), least)


def _wide_rows(cells: Matrix, scale: Scale, shades: str | None) -> Iterable[Text]:
    """Yield rows whose cells are two characters wide, in colour or in shades."""
    for i, row in enumerate(scale.positions(cells).tolist()):
        text = Text()
        for j, position in enumerate(row):
            if np.isnan(position) and i == j:
                text.append(_SELF * 2, "" if shades else "dim")
            elif shades is None:
                text.append("  ", Style(bgcolor=_colour(position)))
            else:
                text.append(2 * (_MISSING if np.isnan(position) else shade(position, shades)))
        yield text


def _halves(cells: Matrix, scale: Scale) -> Iterable[Text]:
    """Yield lines of half-block characters, each of which shows two cells, one above the other."""
    positions = scale.positions(cells).tolist()
    size = len(positions)
    for top in range(0, size, 2):
        text = Text()
        for column in range(size):
            upper, lower = (
                _colour(positions[row][column])
                if row < size and not (row == column and np.isnan(positions[row][column]))
                else None
                for row in (top, top + 1)
            )
            if upper is None:
                text.append(" " if lower is None else "▄", Style(color=lower))
            else:
                text.append("▀", Style(color=upper, bgcolor=lower))
        yield text


def _colour(position: float) -> str:
    return _MISSING_COLOUR if np.isnan(position) else colour(position)
