"""Report sections on ranks' timelines."""

from __future__ import annotations

from collections.abc import Sequence

from plink import __version__
from plink.show.page.parts import Paragraph, Part, Section, Table
from plink.show.page.timeline_figure import iteration_figure
from plink.show.terminal.timeline import (
    NAME_COLUMNS,
    RANK_COLUMNS,
    latest_text,
    name_rows,
    pending_text,
    rank_rows,
    timeline_facts,
)
from plink.training.timeline.iterations import typical
from plink.training.timeline.merging import Timeline
from plink.training.timeline.summary import NameSummary, RankSummary, lateness, summary_of

_MOST_NAMES = 200
_MOST_PENDING = 50


def timeline_sections(timeline: Timeline, sources: Sequence[str]) -> list[Section]:
    """Return the sections on ranks' timelines.

    Args:
        timeline: timeline of all of them.
        sources: the names of their files.
    """
    summary = summary_of(timeline)
    latest = latest_text(timeline, summary)
    overview: list[Part] = [
        Paragraph(f"{latest[0].upper()}{latest[1:]}.", is_lead=True),
        Table("The essentials", ("what", "found"), timeline_facts(timeline, summary)),
    ]
    sections = [Section("overview", "In short", overview)]
    iteration = typical(timeline)
    if iteration is not None:
        figure = iteration_figure(timeline, iteration, summary, lateness(timeline))
        sections.append(Section("iteration", "An iteration", [figure]))
    if timeline.pending:
        texts = [Paragraph(f"{pending_text(timeline, each)}.") for each in timeline.pending]
        sections.append(Section("pending", "Never agreed on", texts[:_MOST_PENDING]))
    if timeline.names:
        sections.append(Section("ranks", "Ranks", [_ranks(summary.ranks, timeline)]))
        sections.append(Section("collectives", "Collectives", [_names(summary.names)]))
    rows = [("plink", __version__), *(("timeline", source) for source in sources)]
    origin = Table("Files and tools", ("what", "how"), rows)
    return [*sections, Section("origin", "Made from", [origin])]


def _ranks(ranks: Sequence[RankSummary], timeline: Timeline) -> Table:
    caption = (
        "Last: how often the rank announced a collective after all others. Held up others: for so "
        "long all others waited for it alone; median and longest are of single collectives. "
        "Waiting: something was announced and nothing reduced."
    )
    columns = range(1, len(RANK_COLUMNS))
    return Table(caption, RANK_COLUMNS, rank_rows(ranks, timeline), numbers=tuple(columns))


def _names(names: Sequence[NameSummary]) -> Table:
    caption = (
        "First to last: from the first rank's announcement to the last one's, the median. Mostly "
        "last: the rank that was last most often, and how often."
    )
    if len(names) > _MOST_NAMES:
        caption += f" The {_MOST_NAMES} of {len(names):,} that ranks waited for longest."
    return Table(caption, NAME_COLUMNS, name_rows(names[:_MOST_NAMES]), numbers=(1, 2, 3, 4))
