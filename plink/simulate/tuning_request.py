"""Parse the request for a simulation of the tuner: which links change, and how far."""

from __future__ import annotations

from collections.abc import Callable

from plink.base.errors import WrongUseError
from plink.formats.cluster import Cluster
from plink.model.network import build_network
from plink.simulate.jobs import CHANGE
from plink.simulate.network import State
from plink.simulate.simgrid.platforms import Platform, Zones
from plink.simulate.simulation import Simulation, platform_known
from plink.simulate.tuned import LIFTED, WINDOWS, simulate_tuning
from plink.simulate.tuning import OnSimGrid, state_of

NOTHING = "nothing"

# ResNet-50's gradients.
SIZE_BYTES = 102_000_000


def changed_by(usual: State, cluster: Cluster, text: str) -> State:
    """Return the network in which links carry a share of what they did.

    Args:
        usual: before.
        cluster: whose names the hosts and groups have.
        text: `h05:0.4` for a host, `g2:0.3` for a group's uplink, several with commas; `nothing`.

    Raises:
        WrongUseError: no such host or group, or no share.
    """
    changed = usual
    if text == NOTHING:
        return usual
    groups = [group.name for group in cluster.groups]
    for word in text.split(","):
        name, _, said = word.rpartition(":")
        try:
            share = float(said)
        except ValueError:
            share = 0.0
        if not 0.001 <= share <= 1000.0:
            raise WrongUseError(
                f"{word[:60]!r} is no change of a network", "write it as HOST:0.4 or GROUP:0.3"
            )
        if name in cluster.names:
            changed = changed.with_host(cluster.names.index(name), share)
        elif name in groups and len(groups) > 1:
            changed = changed.with_uplink(groups.index(name), share)
        else:
            raise WrongUseError(f"there is no host or group with an uplink called {name[:60]!r}")
    return changed


def simulate_tuner(
    cluster: Cluster,
    platform: Platform | None,
    text: str,
    *,
    size_bytes: int,
    seed: int,
    timeout_s: float,
    tell: Callable[[str], None],
) -> Simulation:
    """Return a job of the cluster's hosts that is tuned on SimGrid while links change.

    Args:
        cluster: the hosts.
        platform: the network; None for what the cluster says of it.
        text: what changes (`changed_by`).
        size_bytes: of the gradients.
        seed: of the noise.
        timeout_s: of each simulation.
        tell: called with what begins.

    Raises:
        WrongUseError: the network is a fat tree or a dragonfly, or has hosts in no group.
        NotMeasuredError: the cluster tells no rate of a link.
        PlinkError: SimGrid is not there, it failed, or it took too long.
    """
    if platform is None:
        platform = platform_known(cluster, build_network(cluster))
    if not isinstance(platform, Zones):
        raise WrongUseError("the tuner is simulated on racks", "describe some: --racks 4")
    usual = state_of(platform)
    if len(usual.uplinks_bytes_s) not in (1, len(cluster.groups)):
        raise WrongUseError("the tuner is simulated where all hosts are in groups")
    found = simulate_tuning(
        usual,
        changed_by(usual, cluster, text),
        OnSimGrid(platform, timeout_s=timeout_s),
        seed=seed,
        size_bytes=size_bytes,
        tell=lambda number: tell(f"window {number + 1} of {WINDOWS}"),
    )
    return Simulation(
        source=cluster.source,
        hosts=platform.hosts,
        ranks=platform.hosts,
        size_bytes=size_bytes,
        random_orders=0,
        rows=(),
        notes=(f"{text} from window {CHANGE + 1} up to window {LIFTED + 1} of {WINDOWS}",),
        tuned=found,
    )
