"""Advice on a cluster and its orders: hosts that limit a job, and next steps with commands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.base.given_way import GivenWay
from plink.base.lazy import lazy_imports
from plink.base.next_command import UNNAMED_FILE, next_command
from plink.base.size import DEFAULT_SIZE_BYTES, format_size
from plink.base.text import format_count, format_names, rtt_text
from plink.formats import document
from plink.formats.cluster import Cluster
from plink.formats.limits import Text
from plink.formats.measurements import find_sample
from plink.formats.order import Order
from plink.formats.structs import Output
from plink.model.outliers import sentences
from plink.optimize.leaving_out import Limiting
from plink.optimize.orders.quality import doubt
from plink.show.facts import directions_text, known_values

with lazy_imports():
    from plink.probes.echo import readings

_LEAST_GROUPED = 4


class NextStep(Output, frozen=True):
    """Next step that a report suggests: the reason, and the command to type if there is one.

    Attributes:
        why: reason, in words
        command: command to type; null if there is none
    """

    why: Text
    command: Text | None = None

    @property
    def line(self) -> str:
        """Reason and, if there is one, its command, on one line."""
        return self.why if self.command is None else f"{self.why}: {self.command}"


def advise_leaving_out(limiting: Limiting, order: Order, source: str) -> list[NextStep]:
    """Return which hosts limit a job, and the gain without them; empty for none."""
    outlying = [NextStep(sentence) for sentence in sentences(limiting.outliers)]
    return outlying + describe_gain(limiting, order, source)


def describe_gain(limiting: Limiting, order: Order, source: str) -> list[NextStep]:
    """Return a sentence on the predicted gain without outlying hosts, with the command for it."""
    left_out = limiting.leaving_out
    if left_out is None:
        return []
    without = f"without {format_names(left_out.hosts)}"
    ranks = format_count(left_out.ranks, "rank")
    if left_out.without_us is None:
        return [NextStep(f"{without}: {order.algorithm} does not run on {ranks}")]
    what = f"the sum of {order.algorithm}'s latencies is"
    gain = f"{left_out.gain:.0%} less".replace("%", " %")
    options = ["--algo", order.algorithm, "--ranks", str(left_out.ranks)]
    if left_out.slots is not None:
        options += ["--slots", str(left_out.slots)]
    if order.host_of_rank is not None:
        options.append("--interleave")
    if left_out.is_time:
        what = f"{order.algorithm} of {format_size(left_out.size_bytes)} takes"
        gain = f"{left_out.with_us / left_out.without_us:.1f} times as fast"
        options += ["--objective", "contention"]
        if left_out.size_bytes != DEFAULT_SIZE_BYTES:
            options += ["--size", str(left_out.size_bytes)]
    before, after = rtt_text(left_out.with_us), rtt_text(left_out.without_us)
    predicted = f"predicted {without}, on {ranks} instead of {order.ranks}: {what} {after}"
    if not left_out.is_worth_it:
        return [NextStep(f"{predicted}, and {before} with all: nothing to gain")]
    return [
        NextStep(f"{predicted} in place of {before}, {gain}"),
        NextStep("to leave out as many", next_command("order", source, *options)),
    ]


def next_steps(
    cluster: Cluster | None, source: str | None, orders: Sequence[tuple[str, Order]] = ()
) -> list[NextStep]:
    """Return the commands to run next for better measurements or orders, most urgent first.

    Args:
        cluster: hosts and what was measured, or None where only orders are at hand.
        source: the cluster's file, as messages call it.
        orders: orders of its hosts, each with its file as messages call it.
    """
    file = UNNAMED_FILE if source is None else document.argument(source)
    way = None if cluster is None else cluster.way
    steps: list[NextStep] = []
    if cluster is not None:
        steps += _measuring_steps(cluster, file)
        if cluster.rtt is None and cluster.bandwidth is None:
            return steps
        steps += _grouping_steps(cluster, file)
        if not orders and len(cluster.hosts) > 1:
            steps.append(
                NextStep(
                    "there is no order yet; --algo names the collective that the job runs",
                    next_command("order", file, "--algo", "ring", "-o", "order.json"),
                )
            )
    for order_source, order in orders:
        steps += _ordering_steps(file, document.argument(order_source), order, way)
    if cluster is not None and cluster.rtt is not None and orders:
        steps.append(
            NextStep(
                "before a later job: does the file still describe the network?",
                next_command("check", file, way=way),
            )
        )
    return steps


def _measuring_steps(cluster: Cluster, file: str) -> list[NextStep]:
    again = next_command("probe", "--resume", file, way=cluster.way)
    rtt = cluster.rtt
    if rtt is None:
        return [NextStep("no round-trip times are known", again)]
    reasons = []
    if cluster.unreachable:
        unreachable = format_count(len(cluster.unreachable), "host")
        reasons.append(f"{unreachable} could not be reached")
    size = len(cluster.hosts)
    missing = size * (size - 1) - known_values(rtt.readings_us).size
    if missing and find_sample(rtt.options) is None and rtt.tool != "import":
        reasons.append(f"{directions_text(missing, size)} were not measured")
    disturbance = () if rtt.disturbance is None else rtt.disturbance
    disturbed = int(np.count_nonzero(np.asarray(disturbance) >= readings.DISTURBED))
    if disturbed and not reasons:
        verb = "was" if disturbed == 1 else "were"
        reasons.append(
            f"{format_count(disturbed, 'direction')} {verb} disturbed by other work on the hosts: "
            "measure again when it is quiet"
        )
    return [NextStep(reason, again) for reason in reasons]


def _grouping_steps(cluster: Cluster, file: str) -> list[NextStep]:
    if not cluster.groups:
        if cluster.grouping is not None or len(cluster.hosts) < _LEAST_GROUPED:
            return []
        return [NextStep("no groups are known yet", next_command("group", file))]
    known = () if cluster.uplinks is None else cluster.uplinks.uplinks
    measured = {uplink.group for uplink in known if uplink.is_whole}
    missing = [group for group in cluster.groups if group.name not in measured]
    if not missing or len(cluster.groups) == 1:
        return []
    which = f"{format_count(len(missing), 'uplink')} {'was' if len(missing) == 1 else 'were'}"
    if len(missing) == len(cluster.groups):
        which = "uplinks were"
    return [
        NextStep(
            f"{which} not measured: what groups can exchange is not known",
            next_command("probe", "--resume", file, "--tool", "uplinks", way=cluster.way),
        )
    ]


def _ordering_steps(
    file: str, order_file: str, order: Order, way: GivenWay | None
) -> list[NextStep]:
    if len(order.hosts) < 2:
        return []
    options = ["--orders", f"given,{order_file},random:5"]
    if order.unused:
        slots = max(host.slots for host in (*order.hosts, *order.unused))
        several = ["--slots", str(slots)] if slots > 1 else []
        options = ["--ranks", str(order.ranks), *several, *options]
    bench = next_command("bench", file, *options, way=way)
    if doubt(order) is not None:
        return [
            NextStep(f"the gain of {order_file} is in doubt: measure whether it is real", bench)
        ]
    return [
        NextStep(
            f"use {order_file} (plink order --format LIST names other launchers)",
            next_command("order", order_file, "--format", "openmpi", "-o", "hostfile"),
        ),
        NextStep(
            "check that the launcher keeps it: several do not",
            next_command("verify", order_file, "--launcher", "openmpi", way=way),
        ),
        NextStep("measure what it gains", bench),
    ]
