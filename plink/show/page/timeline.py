"""Report sections on ranks' timelines of a training job, with the figure of an iteration.

The figure shows when each rank announced, agreed on, began and ended each collective.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink import __version__
from plink.base.text import format_count, rtt_text
from plink.show import timelines
from plink.show.page import charts
from plink.show.page.parts import Figure, Paragraph, Part, Section, facts_table, table
from plink.show.tables import Fact, capitalise
from plink.training.timeline.iterations import Iteration, typical
from plink.training.timeline.merging import Timeline
from plink.training.timeline.summary import NOBODY, Summary, lateness, summary_of

# More rows are too thin to be read.
MAX_RANKS = 16
MAX_COLLECTIVES = 300

_RANK_PX = 64
# Of a rank's row of height 1: buffers below, waits above them.
_BUFFERS_AT = 0.14
_WAITS_FROM = 0.28
_WAITS_TO = 0.9
_MOST_NAMES = 200
_MOST_PENDING = 50
# Significant digits of times in ms, so that a long iteration can be zoomed into.
_DIGITS = 8


def timeline_sections(timeline: Timeline, sources: Sequence[str]) -> list[Section]:
    """Return the report's sections on ranks' timelines, read from files called `sources`."""
    summary = summary_of(timeline)
    overview: list[Part] = [
        Paragraph(capitalise(timelines.latest_text(timeline, summary)), is_lead=True),
        facts_table("The essentials", timelines.timeline_facts(timeline, summary)),
    ]
    sections = [Section("overview", "In short", overview)]
    iteration = typical(timeline)
    if iteration is not None:
        figure = iteration_figure(timeline, iteration, summary)
        sections.append(Section("iteration", "An iteration", [figure]))
    if timeline.pending:
        texts = [
            Paragraph(f"{timelines.pending_text(timeline, each)}.") for each in timeline.pending
        ]
        sections.append(Section("pending", "Never agreed on", texts[:_MOST_PENDING]))
    if timeline.names:
        caption = (
            "Last: how often the rank announced a collective after all others. Held up others: for "
            "so long all others waited for it alone; median and longest are of single collectives. "
            "Waiting: something was announced and nothing reduced."
        )
        ranks = table(caption, timelines.rank_columns(timeline), summary.ranks)
        caption = (
            "First to last: from the first rank's announcement to the last one's, the median. "
            "Mostly last: the rank that was last most often, and how often."
        )
        if len(summary.names) > _MOST_NAMES:
            of = f"{_MOST_NAMES} of {len(summary.names):,}"
            caption += f" The {of} that ranks waited for longest."
        names = table(caption, timelines.NAME_COLUMNS, summary.names[:_MOST_NAMES])
        sections += [
            Section("ranks", "Ranks", [ranks]),
            Section("collectives", "Collectives", [names]),
        ]
    files: list[Fact] = [("timeline", [source]) for source in sources]
    origin = facts_table("Files and tools", [("plink", [__version__]), *files], "how")
    return [*sections, Section("origin", "Made from", [origin])]


def iteration_figure(timeline: Timeline, iteration: Iteration, summary: Summary) -> Figure:
    """Return the figure of one iteration, with the ranks others waited for longest."""
    place_of = {rank: place for place, rank in enumerate(timeline.ranks)}
    shown = sorted(place_of[rank.rank] for rank in summary.ranks[:MAX_RANKS])
    drawn = iteration.collectives[:MAX_COLLECTIVES]
    took = rtt_text(iteration.end_us - iteration.begin_us)
    style = {"color": charts.LINE, "width": 1}
    caption = (
        f"Iteration {iteration.number + 1} of {iteration.of}, one of median length. A thin line "
        "is a collective from when the rank announced it until it knew that all had; they stand in "
        "the same order on every rank, the first to begin on top. A dot marks the rank that "
        "announced it last. The wide line is what is reduced, copies included."
    )
    if len(shown) < len(timeline.ranks):
        caption += f" Of {len(timeline.ranks)} ranks the {len(shown)} that others waited for "
        caption += "longest."
    if len(drawn) < len(iteration.collectives):
        caption += f" The first {len(drawn)} of {len(iteration.collectives)} collectives are drawn."
    return Figure(
        "timeline",
        [
            _wait_trace(timeline, iteration, shown, drawn),
            _last_trace(timeline, iteration, shown, drawn),
            _buffer_trace(timeline, iteration, shown, drawn, is_queue=True),
            _buffer_trace(timeline, iteration, shown, drawn, is_queue=False),
        ],
        charts.layout(
            charts.axis("ms since the first announcement of the iteration"),
            charts.axis(
                range=[len(shown), 0],
                showgrid=False,
                fixedrange=True,
                **charts.ticks(
                    [row + 0.5 for row in range(len(shown))],
                    [f"rank {timeline.ranks[place]}" for place in shown],
                ),
            ),
            shapes=[
                {
                    "type": "line",
                    "xref": "paper",
                    "x0": 0,
                    "x1": 1,
                    "y0": row,
                    "y1": row,
                    "line": style,
                }
                for row in range(1, len(shown))
            ],
        ),
        170 + _RANK_PX * len(shown),
        caption,
        f"{format_count(len(iteration.collectives), 'collective')} of an iteration of {took} on "
        f"{format_count(len(shown), 'rank')}: when each was announced, agreed on, begun and ended",
    )


def _wait_trace(
    timeline: Timeline, iteration: Iteration, shown: Sequence[int], drawn: npt.NDArray[np.intp]
) -> charts.Json:
    segments = charts.Segments()
    for row, rank in enumerate(shown):
        begin_ms = _ms(timeline.announced_us[drawn, rank], iteration)
        end_ms = _ms(timeline.agreed_us[drawn, rank], iteration)
        for place, height, *ends in zip(drawn, _heights(drawn), begin_ms, end_ms, strict=True):
            name = timeline.names[place]
            segments.add(ends, [row + height] * 2, [f"{name} announced", f"{name} agreed on"])
    line = {"color": charts.NO_GROUP_COLOUR, "width": 1.5}
    title = "announced, waiting for others"
    return segments.trace(title, line, "%{text} at %{x} ms", digits=_DIGITS)


def _last_trace(
    timeline: Timeline, iteration: Iteration, shown: Sequence[int], drawn: npt.NDArray[np.intp]
) -> charts.Json:
    """Return the plotly trace of marks where a rank was the last to announce a collective."""
    late = lateness(timeline)
    marks = []
    for height, place in zip(_heights(drawn), drawn, strict=True):
        rank = int(late.last[place])
        if rank != NOBODY and rank in shown:
            at_ms = float(_ms(timeline.announced_us[place, rank], iteration))
            after = rtt_text(float(late.late_us[place]))
            text = f"all others waited {after} for rank {timeline.ranks[rank]}"
            marks.append((at_ms, shown.index(rank) + height, f"{timeline.names[place]}: {text}"))
    x, y, texts = zip(*marks, strict=True) if marks else ((), (), ())
    return charts.trace(
        "the last to announce",
        x,
        y,
        hover="%{text}",
        mode="markers",
        text=texts,
        marker={"symbol": "circle", "size": 6, "color": charts.BETWEEN},
        digits=_DIGITS,
    )


def _buffer_trace(
    timeline: Timeline,
    iteration: Iteration,
    shown: Sequence[int],
    drawn: npt.NDArray[np.intp],
    *,
    is_queue: bool,
) -> charts.Json:
    """Return the plotly trace of fusion buffers' times on ranks: queued, or being reduced."""
    title, line = "being reduced", {"color": charts.WITHIN, "width": 10}
    ends_us = (("begun", timeline.begun_us), ("ended", timeline.ended_us))
    if is_queue:
        title, line = "agreed on, not begun", {"color": charts.INK, "width": 2}
        ends_us = (("agreed on", timeline.released_us), ("begun", timeline.begun_us))
    segments = charts.Segments()
    for row, rank in enumerate(shown):
        for buffer in np.unique(timeline.buffer_of[drawn]):
            count = format_count(int(timeline.collectives[buffer]), "collective")
            segments.add(
                [float(_ms(times_us[buffer, rank], iteration)) for _, times_us in ends_us],
                [row + _BUFFERS_AT] * 2,
                [f"buffer {timeline.buffers[buffer]}: {count}, {word}" for word, _ in ends_us],
            )
    return segments.trace(title, line, "%{text} at %{x} ms", digits=_DIGITS)


def _heights(drawn: npt.NDArray[np.intp]) -> charts.Floats:
    return np.linspace(_WAITS_FROM, _WAITS_TO, len(drawn))


def _ms(at_us: charts.Floats, iteration: Iteration) -> charts.Floats:
    """Convert times in µs to ms since the beginning of the iteration, rounded to 0.1 µs."""
    since: charts.Floats = np.round((at_us - iteration.begin_us) / 1000.0, 4)
    return since
