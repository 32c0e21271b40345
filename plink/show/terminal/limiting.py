"""Sentences on the hosts that limit a job, and what it would gain without them."""

from __future__ import annotations

from plink.base.next_command import next_command
from plink.base.size import DEFAULT_SIZE_BYTES, format_size
from plink.base.text import format_count, format_names, rtt_text
from plink.files.order import Order
from plink.model.outliers import sentences
from plink.optimize.leaving_out import LeavingOutCosts, Limiting


def limiting_lines(found: Limiting, order: Order, source: str) -> list[str]:
    """Return sentences on the hosts that limit the job; none without outlying hosts.

    Args:
        found: what `limiting` gave.
        order: that it is on.
        source: the cluster's file as a command names it.
    """
    return [*sentences(found.outliers), *gain_lines(found, order, source)]


def gain_lines(found: Limiting, order: Order, source: str) -> list[str]:
    """Return the predicted gain without these hosts, and the commands to get it."""
    left_out = found.leaving_out
    if left_out is None:
        return []
    without = f"without {format_names(left_out.hosts)}"
    ranks = format_count(left_out.ranks, "rank")
    if left_out.without_us is None:
        return [f"{without}: {order.algorithm} does not run on {ranks}"]
    what, gain = f"the sum of {order.algorithm}'s latencies is", f"{left_out.gain:.0%} less"
    if left_out.is_time:
        what = f"{order.algorithm} of {format_size(left_out.size_bytes)} takes"
        gain = f"{left_out.with_us / left_out.without_us:.1f} times as fast"
    before, after = rtt_text(left_out.with_us), rtt_text(left_out.without_us)
    predicted = f"predicted {without}, on {ranks} instead of {order.ranks}: {what} {after}"
    if not left_out.is_worth_it:
        return [f"{predicted}, and {before} with all: nothing to gain"]
    return [
        f"{predicted} in place of {before}, {gain.replace('%', ' %')}",
        f"to leave out as many: {next_command('order', source, *_words(left_out, order))}",
    ]


def _words(left_out: LeavingOutCosts, order: Order) -> list[str]:
    """Return the options of `plink order` for an equally good order of fewer ranks."""
    words = ["--algo", order.algorithm, "--ranks", str(left_out.ranks)]
    if left_out.slots is not None:
        words += ["--slots", str(left_out.slots)]
    if order.host_of_rank is not None:
        words.append("--interleave")
    if left_out.is_time:
        words += ["--objective", "contention"]
        if left_out.size_bytes != DEFAULT_SIZE_BYTES:
            words += ["--size", str(left_out.size_bytes)]
    return words
