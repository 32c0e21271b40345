"""Report sections on a tuned run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink import __version__
from plink.autotune.log.history import Floats, History
from plink.base.text import bandwidth_text, bytes_text
from plink.show.page.parts import Paragraph, Part, Section, Table, facts_table
from plink.show.page.tuned_figure import run_figure
from plink.show.tables import Fact, cells, headings, number_columns
from plink.show.tuned import decision_columns, numbered_decisions, option_facts, run_facts


def tuned_sections(run: History, sources: Sequence[str]) -> list[Section]:
    """Return the sections on a tuned run.

    Args:
        run: what its logs tell.
        sources: the logs' names.
    """
    sections = [Section("overview", "Overview", [facts_table("The essentials", run_facts(run))])]
    if run.windows:
        sections.append(Section("run", "The run", _run(run)))
    sections += [
        Section("decisions", "Decisions", [_decisions(run)]),
        Section("hosts", "Hosts", [_hosts(run)]),
        Section("origin", "Made from", [_origin(run, sources)]),
    ]
    return sections


def _run(run: History) -> list[Part]:
    parts: list[Part] = []
    if run.is_replayed is False:
        parts.append(
            Paragraph(
                "The log has other decisions than this version of plink makes on what was "
                "measured, so that what hosts were believed to carry is known only up to there.",
                is_note=True,
            )
        )
    return [*parts, run_figure(run)]


def _decisions(run: History) -> Part:
    if not run.changes:
        return Paragraph("None: the plan stayed as it was.")
    caption = (
        "Every decision but to wait. Iterations are medians of up to three windows with the plan "
        "before, and with the one after."
    )
    columns = decision_columns(run)
    rows = cells(columns, numbered_decisions(run))
    return Table(caption, headings(columns), rows, number_columns(columns))


def _hosts(run: History) -> Table:
    """Return the table beside the figure: each host's traffic and believed rate, first and last."""
    rows = []
    for host, name in enumerate(run.hosts):
        rates = run.rates_bytes_s[:, host]
        known = rates[np.isfinite(rates)]
        rows.append(
            (
                f"{host} {name}",
                *(bytes_text(float(each)) for each in _ends(run.sent_bytes[:, host])),
                bandwidth_text(8e-9 * known.min()) if len(known) else "",
                bandwidth_text(8e-9 * known[-1]) if len(known) else "",
            )
        )
    caption = "What each sends to others in an iteration, and what it was believed to carry."
    header = ("host", "sent at first", "sent at the end", "believed at least", "at last")
    return Table(caption, header, rows, numbers=(1, 2, 3, 4))


def _ends(values: Floats) -> Sequence[float]:
    return (values[0], values[-1]) if len(values) else (0.0, 0.0)


def _origin(run: History, sources: Sequence[str]) -> Table:
    facts: list[Fact] = [("plink", [__version__]), *(("log", [source]) for source in sources)]
    return facts_table("Files and tools", [*facts, *option_facts(run)], "how")
