"""An order as a ring over the groups, beside the given one."""

from __future__ import annotations

from collections.abc import Sequence

from plink.base.text import counted
from plink.show.page.circle import rings
from plink.show.page.colours import NO_GROUP
from plink.show.page.hops import hop_bars, leaving
from plink.show.page.parts import Paragraph, Part, Section
from plink.show.page.subject import NamedOrder, Subject

_LEAST_HOSTS = 3


def ring_section(subject: Subject) -> Section | None:
    """The given order and those of plink as rings; None where there are too few hosts."""
    if len(subject.names) < _LEAST_HOSTS:
        return None
    parts: list[Part] = []
    if not subject.orders:
        given = list(range(len(subject.names)))
        parts.append(Paragraph(f"No order was given to this report. {_crossings(subject, given)}"))
        parts.append(rings(subject, [("given order", given)], "ring"))
    for number, named in enumerate(subject.orders):
        ranks = [subject.place_of[name] for name in named.order.names]
        parts.append(Paragraph(_compared(subject, named, ranks)))
        # Where hosts are left out, the given order is that of the first.
        pair = [("given order", list(range(len(ranks)))), ("plink's order", ranks)]
        parts += [
            rings(subject, pair, f"ring-{number}"),
            hop_bars(subject, named, ranks, f"hops-{number}"),
        ]
    return Section("ring", "The ring over the groups", parts)


def _crossings(subject: Subject, ranks: Sequence[int]) -> str:
    if not subject.groups:
        return "No groups are known, so hops within and between groups cannot be told apart."
    return (
        f"As listed, {leaving(subject, ranks)} of {len(ranks)} hops lead from one group to another."
    )


def _compared(subject: Subject, named: NamedOrder, ranks: Sequence[int]) -> str:
    if not subject.groups:
        return f"{named.source}: {_crossings(subject, ranks)}"
    given = leaving(subject, range(len(ranks)))
    of_hosts = subject.group_of[list(ranks)]
    alone = int((of_hosts == NO_GROUP).sum())
    groups = len(set(of_hosts.tolist()) - {NO_GROUP})
    least = groups + alone if groups + alone > 1 else 0
    lone = f" and {counted(alone, 'host')} of none" if alone else ""
    return (
        f"{named.source}: {leaving(subject, ranks)} of {len(ranks)} hops lead from one group to "
        f"another; in the given order {given} do. A ring over "
        f"{counted(groups, 'group')}{lone} has at least {least}."
    )
