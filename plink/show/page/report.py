"""Report: its title and sections in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plink.autotune.log.history import History
from plink.base.text import format_count
from plink.show.page.bandwidth import bandwidth_section
from plink.show.page.costs import costs_section
from plink.show.page.distances import distances_section
from plink.show.page.finding import groups_text
from plink.show.page.groups import groups_section
from plink.show.page.overview import next_section, origin_section, overview_section
from plink.show.page.parts import Section
from plink.show.page.points import map_section
from plink.show.page.quality import quality_section
from plink.show.page.ring import ring_section
from plink.show.page.subject import Subject
from plink.show.page.timeline import timeline_sections
from plink.show.page.tuned import tuned_sections
from plink.training.timeline.merging import Timeline

# Each says what it has to say of a subject, or None where that has nothing of the kind.
SECTIONS: Sequence[Callable[[Subject], Section | None]] = (
    overview_section,
    next_section,
    distances_section,
    bandwidth_section,
    groups_section,
    map_section,
    costs_section,
    ring_section,
    quality_section,
    origin_section,
)


def report(
    subject: Subject | History | Timeline, sources: Sequence[str]
) -> tuple[str, list[Section]]:
    """Return the title and sections of a report.

    Args:
        subject: what it is about.
        sources: the files that it was read from, as the report calls them.
    """
    if isinstance(subject, History):
        hosts = format_count(len(subject.hosts), "host")
        return f"plink autotune: {hosts}, {', '.join(sources)}", tuned_sections(subject, sources)
    if isinstance(subject, Timeline):
        ranks = format_count(len(subject.ranks), "rank")
        return f"plink timeline: {ranks}", timeline_sections(subject, sources)
    source = subject.source or ", ".join(named.source for named in subject.orders)
    return f"plink: {groups_text(subject)}, {source}", build_sections(subject)


def build_sections(subject: Subject) -> list[Section]:
    """Return all sections that are not empty."""
    return [section for make in SECTIONS if (section := make(subject)) is not None]
