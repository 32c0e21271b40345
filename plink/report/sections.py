"""The sections of a report, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plink.report.costs import costs_section
from plink.report.distances import distances_section
from plink.report.grouping import groups_section
from plink.report.overview import next_section, origin_section, overview_section
from plink.report.parts import Section
from plink.report.points import map_section
from plink.report.quality import quality_section
from plink.report.ring import ring_section
from plink.report.subject import Subject

# Each says what it has to say of a subject, or None where that has nothing of the kind.
SECTIONS: Sequence[Callable[[Subject], Section | None]] = (
    overview_section,
    next_section,
    distances_section,
    groups_section,
    map_section,
    costs_section,
    ring_section,
    quality_section,
    origin_section,
)


def sections_of(subject: Subject) -> list[Section]:
    """All sections that have something to say."""
    return [section for make in SECTIONS if (section := make(subject)) is not None]
