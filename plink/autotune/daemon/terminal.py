"""Terminal view of running jobs."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from plink.autotune.protocol.status import JobStatus
from plink.base.text import format_count, format_names, printable

_BAR_WIDTH = 30
_MOST_HOSTS = 16
_MOST_EVENTS = 8


def view(jobs: Sequence[JobStatus]) -> RenderableType:
    """Show each job's throughput, the load of its hosts, and its latest events."""
    return Group(*(part for job in jobs for part in _job(job)))


def _job(job: JobStatus) -> list[RenderableType]:
    return [_heading(job), _loads(job), _events(job), Text()]


def _heading(job: JobStatus) -> Text:
    heading = Text(printable(job.name), style="bold")
    heading.append(f"  {job.ranks_there} of {format_count(job.ranks, 'rank')}", style="default")
    if job.iteration_s is None:
        heading.append(f"  {printable(job.progress)}", style="dim")
        return heading
    heading.append(f"  plan {job.plan_in_force}", style="default")
    if job.plan != job.plan_in_force:
        heading.append(f" ({job.plan} on its way)", style="yellow")
    heading.append(
        f"  {1e3 * job.iteration_s:,.1f} ms an iteration"
        f"  {job.throughput_bytes_s / 1e6:,.1f} MB/s reduced",
        style="default",
    )
    heading.append(f"\n{printable(job.progress)}", style="dim")
    return heading


def _loads(job: JobStatus) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("host", "sends, MB an iteration", "", "busy, ms", "sent again"):
        table.add_column(name, justify="left" if name in ("host", "") else "right")
    if job.iteration_s is None:
        return table
    sent, busy, again = job.sent_bytes, job.busy_s, job.retransmissions
    # The busiest first: with many hosts only these are of interest.
    order = (-busy).argsort(kind="stable")[:_MOST_HOSTS]
    for host in sorted(order.tolist()):
        bar = "█" * round(_BAR_WIDTH * float(sent[host]) / max(1.0, float(sent.max())))
        table.add_row(
            Text(printable(job.hosts[host])),
            f"{sent[host] / 1e6:,.2f}",
            bar,
            f"{1e3 * busy[host]:,.1f}",
            f"{again[host]:,.0f}",
        )
    if len(job.hosts) > len(order):
        table.add_row(f"and {len(job.hosts) - len(order)} less busy ones")
    return table


def _events(job: JobStatus) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for event in list(job.latest)[-_MOST_EVENTS:]:
        clock = time.strftime("%H:%M:%S", time.localtime(event.at_s))
        what, text = Text(printable(event.what)), Text(printable(event.text))
        table.add_row(Text(clock, style="dim"), what, text)
    if job.reprobe_hosts:
        hosts = printable(format_names(list(job.reprobe_hosts)))
        table.add_row("", "reprobe", Text(f"probe again: {hosts}", style="yellow"))
    return table
