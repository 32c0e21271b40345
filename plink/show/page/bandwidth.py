"""Report section on bandwidth: between hosts, of links and of uplinks."""

from __future__ import annotations

import numpy as np

from plink.base.next_command import UNNAMED_FILE, next_command
from plink.base.text import bandwidth_text, format_count
from plink.files import document
from plink.files.cluster import Cluster
from plink.files.matrices import Matrix
from plink.files.measurements import BandwidthMeasurement
from plink.model.network import build_network, capacity
from plink.show.page.limits import limits_table
from plink.show.page.links import host_bars, uplink_bars
from plink.show.page.matrix import LEGEND_TICKS, STOPS, log_stops, matrix_figure, matrix_legend
from plink.show.page.matrix_table import matrix_table
from plink.show.page.parts import (
    Figure,
    Folded,
    NextSteps,
    Paragraph,
    Part,
    Section,
)
from plink.show.page.subject import Subject
from plink.show.scale import colour

# Rates of links that are alike differ by a few percent; a scale narrower than this would make
# structure of their noise.
_LEAST_RATIO = 3.0
_AT_LEAST = "≥: at least; something else, as the other groups' links, may have been the limit."


def bandwidth_section(subject: Subject) -> Section | None:
    """Return the section on rates, links, uplinks and what they limit.

    How to measure them where nothing is known.
    """
    cluster = subject.cluster
    if cluster is None or len(subject.names) < 2:
        return None
    parts = [*_rates(subject, cluster), *_links(subject, cluster), *_uplinks(subject, cluster)]
    if cluster.bandwidth is None and cluster.uplinks is None:
        parts = []
    network = build_network(cluster, found=subject.distances)
    limits = limits_table(subject, network)
    parts += limits
    if limits and network.assumptions:
        said = [Paragraph(f"{text[:1].upper()}{text[1:]}.") for text in network.assumptions]
        parts.append(Folded("What was assumed where nothing was measured", said))
    return Section("bandwidth", "Bandwidth", parts or _unmeasured_parts(subject))


def _unmeasured_parts(subject: Subject) -> list[Part]:
    file = UNNAMED_FILE if subject.source is None else document.argument(subject.source)
    way = None if subject.cluster is None else subject.cluster.way
    why = "Bandwidth was not measured: what links carry, and what limits a collective, is not known"
    return [
        NextSteps([(why, next_command("probe", "--resume", file, "--tool", "iperf3", way=way))])
    ]


def _rates(subject: Subject, cluster: Cluster) -> list[Part]:
    bandwidth = cluster.bandwidth
    if bandwidth is None or not np.isfinite(bandwidth.gbit_s).any():
        return []
    low, high = _ends(bandwidth.gbit_s)
    has_gaps = _missing(bandwidth) > 0
    return [
        Paragraph(_rates_sentence(bandwidth)),
        matrix_legend(
            [colour(1.0 - step / STOPS) for step in range(STOPS + 1)],
            _ticks(low, high),
            has_gaps=has_gaps,
        ),
        rate_map(subject, bandwidth.gbit_s),
        matrix_table(subject, bandwidth.gbit_s, "rates", bandwidth_text),
    ]


def _ticks(low: float, high: float) -> list[str]:
    """Return tick values along the scale, with the unit only where it changes."""
    texts = [
        bandwidth_text(low * (high / low) ** (step / (LEGEND_TICKS - 1)))
        for step in range(LEGEND_TICKS)
    ]
    units = [text.split()[1] for text in texts]
    return [
        text.split()[0] if unit == following else text
        for text, unit, following in zip(texts, units, [*units[1:], ""], strict=True)
    ]


def _rates_sentence(bandwidth: BandwidthMeasurement) -> str:
    values = bandwidth.gbit_s[np.isfinite(bandwidth.gbit_s)]
    least, middle, most = (bandwidth_text(float(v)) for v in np.quantile(values, [0.0, 0.5, 1.0]))
    said = (
        f"What each host sent to each other one, as measured: {least} to {most}, median {middle}."
    )
    missing = _missing(bandwidth)
    if missing:
        size = len(bandwidth.gbit_s)
        said += f" {missing:,} of {format_count(size * (size - 1), 'direction')} were not measured."
    return said


def _missing(bandwidth: BandwidthMeasurement) -> int:
    size = len(bandwidth.gbit_s)
    return size * (size - 1) - int(np.isfinite(bandwidth.gbit_s).sum())


def rate_map(subject: Subject, gbit_s: Matrix) -> Figure:
    """Return the heat map of rates.

    Args:
        subject: whose hosts they are.
        gbit_s: (N, N), [source][destination], NaN where not measured; one above 0 at least.
    """
    low, high = _ends(gbit_s)
    least = float(np.nanmin(np.where(gbit_s > 0.0, gbit_s, np.nan), initial=low))
    return matrix_figure(
        subject,
        gbit_s,
        name="rate-map",
        unit="Gbit/s",
        high=high,
        stops=log_stops(least, low, high, lambda place: colour(1.0 - place)),
        caption="A row is a source, a column a destination, bright is fast. A dark row is a host "
        "that sends slowly, a dark column one that receives slowly; dark fields between frames "
        "are groups whose connection is slow.",
        description=f"heat map of rates between {len(subject.names)} hosts; its numbers are in "
        "the table that follows",
    )


def _ends(gbit_s: Matrix) -> tuple[float, float]:
    """Return the slowest and the fastest rate of the scale."""
    known = gbit_s[np.isfinite(gbit_s) & (gbit_s > 0.0)]
    if not known.size:
        return 1.0, _LEAST_RATIO
    high = float(known.max())
    return min(float(known.min()), high / _LEAST_RATIO), high


def _links(subject: Subject, cluster: Cluster) -> list[Part]:
    bars = host_bars(subject, capacity(cluster, cluster.groups))
    if not bars:
        return []
    if cluster.bandwidth is not None:
        said = "A host's link is taken to carry as much as the fastest of its transfers did."
    elif cluster.uplinks is not None and cluster.uplinks.links:
        said = (
            "Each host exchanged data by itself when uplinks were measured. Links of a group that "
            "differ by no more than such short transfers do are taken to be equal."
        )
    else:
        said = (
            "Links of hosts were not measured one by one: these are even shares of what the hosts "
            "of a group carry together."
        )
    return [Paragraph(said), *bars]


def _uplinks(subject: Subject, cluster: Cluster) -> list[Part]:
    uplinks = () if cluster.uplinks is None else cluster.uplinks.uplinks
    bars = uplink_bars(uplinks)
    if bars is None:
        if len(subject.groups) < 2:
            return []
        return [
            Paragraph(
                "Uplinks were not measured: what groups can exchange with each other is not known."
            )
        ]
    parts: list[Part] = [bars]
    if any(uplink.send_is_lower_bound or uplink.receive_is_lower_bound for uplink in uplinks):
        parts.append(Paragraph(_AT_LEAST))
    return parts
