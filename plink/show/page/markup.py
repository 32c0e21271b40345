"""Parts of a section as HTML. Every text is escaped here, and nowhere else."""

from __future__ import annotations

from html import escape

from plink.base.text import printable
from plink.show.page.parts import Figure, Legend, Paragraph, Part, Section, Steps, Table

# Longer tables scroll inside a frame of their own, and are whole in print.
_LONG_TABLE = 20


def section_html(section: Section) -> str:
    """A section with its heading."""
    parts = "\n".join(_part(part) for part in section.parts)
    heading = f'<h2 id="{section.anchor}-title">{_text(section.title)}</h2>'
    return (
        f'<section id="{section.anchor}" aria-labelledby="{section.anchor}-title">\n'
        f"{heading}\n{parts}\n</section>"
    )


def link_html(section: Section) -> str:
    """A link to a section."""
    return f'<a href="#{section.anchor}">{_text(section.title)}</a>'


def _part(part: Part) -> str:
    if isinstance(part, Paragraph):
        kind = ' class="note"' if part.is_note else ""
        return f"<p{kind}>{_text(part.text)}</p>"
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Steps):
        return _steps(part)
    if isinstance(part, Legend):
        return _legend(part)
    return _figure(part)


def _table(table: Table) -> str:
    numbers = set(table.numbers)

    def cells(kind: str, texts: tuple[str, ...] | list[str]) -> str:
        return "".join(
            f"<{kind}{' class=number' if column in numbers else ''}>{_text(text)}</{kind}>"
            for column, text in enumerate(texts)
        )

    head = f"<thead><tr>{cells('th', list(table.header))}</tr></thead>"
    rows = "\n".join(f"<tr>{cells('td', list(row))}</tr>" for row in table.rows)
    kind = "table long" if len(table.rows) > _LONG_TABLE else "table"
    return (
        f'<div class="{kind}" tabindex="0"><table><caption>{_text(table.caption)}</caption>'
        f"{head}\n<tbody>\n{rows}\n</tbody></table></div>"
    )


def _steps(steps: Steps) -> str:
    items = "\n".join(
        f"<li>{_text(why)}" + ("" if command is None else f"<pre>{_text(command)}</pre>") + "</li>"
        for why, command in steps.steps
    )
    return f'<ol class="steps">\n{items}\n</ol>'


def _legend(legend: Legend) -> str:
    colours = ", ".join(legend.colours)
    ticks = "".join(f"<span>{_text(tick)}</span>" for tick in legend.ticks)
    marks = "".join(
        f'<span class="mark"><i style="background: {colour}"></i>{_text(text)}</span>'
        for colour, text in legend.marks
    )
    return (
        f'<div class="legend"><div class="scale"><div class="bar" style="background: '
        f'linear-gradient(to right, {colours})"></div><div class="ticks">{ticks}</div></div>'
        f'<div class="marks">{marks}</div></div>'
    )


def _figure(figure: Figure) -> str:
    height = f"{figure.height_px}px"
    if figure.is_square:
        height = f"min({height}, 110vw)"
    return (
        f'<figure><div class="picture" id="figure-{figure.name}" role="img" tabindex="0" '
        f'aria-label="{escape(printable(figure.description))}" '
        f'style="height: {height}"></div>'
        f"<figcaption>{_text(figure.caption)}</figcaption></figure>"
    )


def _text(text: str) -> str:
    return escape(printable(text))
