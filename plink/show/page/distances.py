"""Report section with the distances as a heat map, ordered by group."""

from __future__ import annotations

from typing import Any

import numpy as np

from plink.base.text import format_count, rtt_text
from plink.files.matrices import Matrix
from plink.files.measurements import percentile_name
from plink.show.page.matrix import LEGEND_TICKS, STOPS, log_stops, matrix_figure, matrix_legend
from plink.show.page.matrix_table import matrix_table
from plink.show.page.parts import Figure, Paragraph, Section
from plink.show.page.subject import Subject
from plink.show.scale import Scale, colour, scale_for


def distances_section(subject: Subject) -> Section | None:
    """Return the heat map of the raw readings; None without any."""
    cluster = subject.cluster
    if cluster is None or cluster.rtt is None or subject.distances is None:
        return None
    readings = cluster.rtt.readings_us
    values = readings[np.isfinite(readings)]
    scale = scale_for(values)
    size = len(subject.names)
    missing = size * (size - 1) - values.size
    reading = percentile_name(cluster.rtt.reading)
    least, middle, most = map(rtt_text, np.quantile(values, [0.0, 0.5, 1.0]))
    said = (
        f"The {reading} round-trip time of every ordered pair, as measured: {least} to {most}, "
        f"median {middle}."
    )
    if missing:
        said += f" {missing:,} of {format_count(size * (size - 1), 'direction')} were not measured."
    return Section(
        "distances",
        "Distances",
        [
            Paragraph(said),
            matrix_legend(
                [colour(step / STOPS) for step in range(STOPS + 1)],
                [rtt_text(scale.at(step / (LEGEND_TICKS - 1))) for step in range(LEGEND_TICKS)],
                has_gaps=missing > 0,
            ),
            heat_map(subject, readings, scale),
            matrix_table(subject, readings, "round-trip times", rtt_text),
        ],
    )


def heat_map(subject: Subject, readings_us: Matrix, scale: Scale) -> Figure:
    """Return the heat map figure.

    Args:
        subject: whose hosts they are.
        readings_us: (N, N), [source][destination], NaN where not measured.
        scale: scale of colours.
    """
    return matrix_figure(
        subject,
        readings_us,
        name="heat-map",
        unit="µs",
        high=scale.high_us,
        stops=_stops(scale, readings_us),
        caption="A row is a source, a column a destination, bright is near. Hosts of a group stand "
        "together, and a frame is drawn around each group. Groups show as bright squares on the "
        "diagonal; a dark line across is a host that is far from all others, or slow to answer.",
        description=f"heat map of round-trip times between {len(subject.names)} hosts; its numbers "
        "are in the table that follows",
    )


def _stops(scale: Scale, readings_us: Matrix) -> list[list[Any]]:
    """Return logarithmic colour stops from 0, the host itself, to the scale's end."""
    least = float(np.nanmin(np.where(readings_us > 0.0, readings_us, np.nan), initial=scale.low_us))
    return log_stops(min(least, scale.low_us), scale.low_us, scale.high_us, colour)
