"""Report sections on ranks' timelines."""

from __future__ import annotations

from collections.abc import Sequence

from plink import __version__
from plink.show.page.parts import Paragraph, Part, Section, Table, facts_table
from plink.show.page.timeline_figure import iteration_figure
from plink.show.tables import Fact, capitalise, cells, headings, number_columns
from plink.show.timelines import (
    NAME_COLUMNS,
    latest_text,
    pending_text,
    rank_columns,
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
    overview: list[Part] = [
        Paragraph(capitalise(latest_text(timeline, summary)), is_lead=True),
        facts_table("The essentials", timeline_facts(timeline, summary)),
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
    files: list[Fact] = [("timeline", [source]) for source in sources]
    origin = facts_table("Files and tools", [("plink", [__version__]), *files], "how")
    return [*sections, Section("origin", "Made from", [origin])]


def _ranks(ranks: Sequence[RankSummary], timeline: Timeline) -> Table:
    caption = (
        "Last: how often the rank announced a collective after all others. Held up others: for so "
        "long all others waited for it alone; median and longest are of single collectives. "
        "Waiting: something was announced and nothing reduced."
    )
    columns = rank_columns(timeline)
    return Table(caption, headings(columns), cells(columns, ranks), number_columns(columns))


def _names(names: Sequence[NameSummary]) -> Table:
    caption = (
        "First to last: from the first rank's announcement to the last one's, the median. Mostly "
        "last: the rank that was last most often, and how often."
    )
    if len(names) > _MOST_NAMES:
        caption += f" The {_MOST_NAMES} of {len(names):,} that ranks waited for longest."
    rows = cells(NAME_COLUMNS, names[:_MOST_NAMES])
    return Table(caption, headings(NAME_COLUMNS), rows, number_columns(NAME_COLUMNS))
