"""Table equivalent of a heat map, for screen readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from plink.files.matrices import Matrix
from plink.show.page.parts import Folded, Part, Table
from plink.show.page.subject import Subject

# A table of more columns is not read by anybody; groups and hosts are then told one by one.
MOST_COLUMNS = 24
_MOST_ROWS = 512
_UNKNOWN = "-"


def matrix_table(
    subject: Subject, values: Matrix, what: str, text: Callable[[float], str]
) -> Folded:
    """Return every pair of few hosts; for many, medians of groups and of each host.

    Args:
        subject: whose hosts they are.
        values: (N, N), [source][destination], NaN where not measured.
        what: the values are, in the plural.
        text: text of a value.
    """
    sequence = list(subject.sequence)
    if len(sequence) <= MOST_COLUMNS:
        names = [subject.names[host] for host in sequence]
        rows = [
            (
                names[row],
                *(
                    "itself" if row == column else _text(values[[[source]], [[target]]], text)
                    for column, target in enumerate(sequence)
                ),
            )
            for row, source in enumerate(sequence)
        ]
        caption = f"{what}, a row for each source and a column for each destination"
        parts: list[Part] = [_table(caption, ("from", *names), rows)]
    else:
        parts = [
            *_between_groups(subject, values, what, text),
            _of_hosts(subject, values, what, text),
        ]
    return Folded(f"The {what} as a table", parts)


def _between_groups(
    subject: Subject, values: Matrix, what: str, text: Callable[[float], str]
) -> list[Part]:
    if not 1 < len(subject.groups) <= MOST_COLUMNS:
        return []
    places = [[subject.place_of[host] for host in group.hosts] for group in subject.groups]
    names = [group.name for group in subject.groups]
    rows = [
        (name, *(_text(values[np.ix_(source, target)], text) for target in places))
        for name, source in zip(names, places, strict=True)
    ]
    caption = f"medians of {what} between groups, a row for each source"
    return [_table(caption, ("from", *names), rows)]


def _of_hosts(subject: Subject, values: Matrix, what: str, text: Callable[[float], str]) -> Part:
    rows = []
    for host in subject.sequence[:_MOST_ROWS]:
        to_others, from_others = values[host], values[:, host]
        rows.append((subject.names[host], *_spread(to_others, text), *_spread(from_others, text)))
    header = (
        "host",
        *(f"{word} to others" for word in ("least", "median", "most")),
        *(f"{word} from others" for word in ("least", "median", "most")),
    )
    caption = f"{what} of each host"
    if len(subject.names) > _MOST_ROWS:
        caption += f", the first {_MOST_ROWS} of {len(subject.names):,}"
    return _table(caption, header, rows)


def _table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return Table(
        f"{caption[:1].upper()}{caption[1:]}", header, rows, range(1, len(header)), is_grid=True
    )


def _spread(values: Matrix, text: Callable[[float], str]) -> tuple[str, ...]:
    known = values[np.isfinite(values)]
    if not known.size:
        return (_UNKNOWN,) * 3
    return tuple(text(float(value)) for value in (known.min(), np.median(known), known.max()))


def _text(values: Matrix, text: Callable[[float], str]) -> str:
    """Return the median of the measured values as text."""
    known = values[np.isfinite(values)]
    return text(float(np.median(known))) if known.size else _UNKNOWN
