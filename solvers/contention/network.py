"""Network model: hosts in groups, latencies, and rates of hosts' links and groups' uplinks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Network:
    """Network model: hosts' latencies, groups, and rates of host links and uplinks by direction.

    Args:
        latency_s: (N, N) one way from host (row) to host (column), zero diagonal.
        send_bytes_s, receive_bytes_s: (N,) of each host's link; infinite where unlimited.
        group_of: (N,) the group of each host, -1 for none.
        uplink_send_bytes_s, uplink_receive_bytes_s: (G,) what the hosts of each group exchange with
            all others at most; infinite where unlimited.
    """

    latency_s: Floats
    send_bytes_s: Floats
    receive_bytes_s: Floats
    group_of: Indices
    uplink_send_bytes_s: Floats
    uplink_receive_bytes_s: Floats

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return len(self.group_of)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.uplink_send_bytes_s)

    @property
    def link_bytes_s(self) -> Floats:
        """Rate of each host's link in its slower direction, (N,)."""
        return np.minimum(self.send_bytes_s, self.receive_bytes_s)

    @property
    def uplink_bytes_s(self) -> Floats:
        """Rate of each group's uplink in its slower direction, (G,)."""
        return np.minimum(self.uplink_send_bytes_s, self.uplink_receive_bytes_s)

    @property
    def rates_bytes_s(self) -> Floats:
        """Rates of all links: hosts, sending and receiving, then uplinks likewise, (2N + 2G,)."""
        hosts = self.send_bytes_s, self.receive_bytes_s
        return np.concatenate([*hosts, self.uplink_send_bytes_s, self.uplink_receive_bytes_s])


def make_network(
    hosts: int,
    *,
    latency_s: npt.ArrayLike | None = None,
    send_bytes_s: npt.ArrayLike | None = None,
    receive_bytes_s: npt.ArrayLike | None = None,
    group_of: npt.ArrayLike | None = None,
    uplink_send_bytes_s: npt.ArrayLike | None = None,
    uplink_receive_bytes_s: npt.ArrayLike | None = None,
) -> Network:
    """Return a network model; omitted values mean no latency, unlimited rates, no groups.

    A rate may be one number for all.

    Raises:
        ValueError: shapes that do not fit each other, rates that are not above 0, latencies that
            are negative, not finite or not zero from a host to itself, a group that is not there.
    """
    latency = _array(latency_s, 0.0, (hosts, hosts), "latency_s")
    is_in_range = latency.min(initial=0.0) >= 0.0 and latency.max(initial=0.0) < np.inf
    if not is_in_range or np.diagonal(latency).any():
        raise ValueError("latency_s must be finite, not negative, and 0 on the diagonal")
    group = np.full(hosts, -1) if group_of is None else np.asarray(group_of, dtype=np.intp)
    if group.shape != (hosts,) or (group < -1).any():
        raise ValueError(f"group_of must be {hosts} group indices, or -1 for no group")
    groups = int(group.max(initial=-1)) + 1
    for rates in (uplink_send_bytes_s, uplink_receive_bytes_s):
        if rates is not None and np.ndim(rates) > 0:
            groups = max(groups, len(np.asarray(rates)))
    return Network(
        latency_s=latency,
        send_bytes_s=_rates(send_bytes_s, hosts, "send_bytes_s"),
        receive_bytes_s=_rates(receive_bytes_s, hosts, "receive_bytes_s"),
        group_of=group.astype(np.intp),
        uplink_send_bytes_s=_rates(uplink_send_bytes_s, groups, "uplink_send_bytes_s"),
        uplink_receive_bytes_s=_rates(uplink_receive_bytes_s, groups, "uplink_receive_bytes_s"),
    )


def scale_rates(network: Network, factor: float) -> Network:
    """Return the network with the rates of all links multiplied by a factor."""
    return replace(
        network,
        send_bytes_s=network.send_bytes_s * factor,
        receive_bytes_s=network.receive_bytes_s * factor,
        uplink_send_bytes_s=network.uplink_send_bytes_s * factor,
        uplink_receive_bytes_s=network.uplink_receive_bytes_s * factor,
    )


def with_every_host_grouped(network: Network) -> Network:
    """Return the network with a group of its own for each ungrouped host, empty groups removed.

    Such a group's uplink is unlimited, for its host's own link is what limits it.
    """
    outside = len(network.uplink_send_bytes_s)
    group_of = network.group_of.copy()
    alone = np.flatnonzero(group_of < 0)
    group_of[alone] = outside + np.arange(len(alone))
    kept, dense = np.unique(group_of, return_inverse=True)
    unlimited = np.full(len(alone), np.inf)
    return replace(
        network,
        group_of=dense.astype(np.intp),
        uplink_send_bytes_s=np.append(network.uplink_send_bytes_s, unlimited)[kept],
        uplink_receive_bytes_s=np.append(network.uplink_receive_bytes_s, unlimited)[kept],
    )


def _rates(values: npt.ArrayLike | None, count: int, name: str) -> Floats:
    rates = _array(values, np.inf, (count,), name)
    if not (rates > 0.0).all():
        raise ValueError(f"{name} must hold rates above 0")
    return rates


def _array(
    values: npt.ArrayLike | None, absent: float, shape: tuple[int, ...], name: str
) -> Floats:
    array = np.asarray(absent if values is None else values, dtype=np.float64)
    if array.ndim == 0:
        array = np.broadcast_to(array, shape)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    return np.ascontiguousarray(array)
