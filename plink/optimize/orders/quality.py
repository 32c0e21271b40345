"""Reasons to doubt the gain of an order, as sentences."""

from __future__ import annotations

from collections.abc import Iterator

from plink.base.text import format_count, share_text
from plink.formats.order import Order
from plink.optimize.orders.mesh import inner_advice

# An order found on one direction's readings must save on the other's at least this share of what
# the order itself saves. Among pairs that are all alike, the search picks those whose readings
# happen to be low, which does not happen to the other direction again.
_LEAST_CONFIRMED = 0.5
_LEAST_GAIN = 0.02

# Fewer make one ring only.
_LEAST_HOSTS = 4


def doubt(order: Order) -> str | None:
    """Return a sentence on why an order's predicted gain may not be real; None without a reason."""
    if len(order.hosts) == 1:
        return "one host takes all ranks" if order.unused else "one host has one order only"
    if order.is_ring_of_hops and len(order.hosts) < _LEAST_HOSTS and not order.unused:
        return f"every ring of {len(order.hosts)} costs the same"
    gain = order.gain if order.bandwidth is None else max(order.gain, order.bandwidth.gain)
    if gain < _LEAST_GAIN:
        return (
            "no structure found: the order is predicted to cost as much as a random one, "
            f"within {_percent(_LEAST_GAIN)}"
        )
    confirmed = order.confirmed_gain
    if confirmed is not None and confirmed < _LEAST_CONFIRMED * order.gain:
        return (
            f"this may be noise: {_percent(order.gain)} is predicted, but an order found on one "
            f"direction's readings saves {_percent(confirmed)} on the other's"
        )
    return None


def notes_on(order: Order) -> Iterator[str]:
    """Yield reasons for caution about an order, one sentence each."""
    doubtful = doubt(order)
    if doubtful:
        yield doubtful
    if order.mesh is not None and order.host_of_rank is None:
        advice = inner_advice(order.mesh, max(host.slots for host in order.hosts))
        if advice is not None:
            yield advice
    if order.filled_pairs and order.bandwidth is not None:
        yield (
            f"{format_count(order.filled_pairs, 'pair')} without a measurement: assumed to be as "
            "slow as the slowest that was measured; the bound holds whatever they carry"
        )
    elif order.filled_pairs:
        yield (
            f"{format_count(order.filled_pairs, 'pair')} without a measurement: their distances "
            "were filled in from those that were measured"
        )


def against_random(order: Order) -> str:
    """Return a phrase on how much cheaper an order is than random orders, such as `9 % below`."""
    if order.is_score:
        return f"{share_text(1.0 - order.gain)} of random orders' score"
    return f"{share_text(max(0.0, order.gain))} below random orders"


def confirmation(order: Order) -> str:
    """Return a phrase on how much of an order's gain independent readings confirm."""
    confirmed = order.confirmed_gain
    if confirmed is None:
        return "not checked"
    found = _percent(confirmed)
    if confirmed < _LEAST_CONFIRMED * order.gain:
        return f"{found} of {_percent(order.gain)}: mostly noise"
    return f"{found} of the {_percent(order.gain)} predicted"


def _percent(share: float) -> str:
    """Format a gain (share of 1) as a percentage; a loss counts as no gain."""
    return f"{max(0.0, share):.0%}".replace("%", " %")
