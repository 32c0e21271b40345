"""Measured times of `docs/accuracy.md` beside SimGrid's, on the labs that were drawn for it."""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

import numpy as np

from benchkit.accuracy_labs import draw
from labkit.shape_file import read_shape
from labkit.topology import place
from plink.formats.cluster import Cluster
from plink.measure.importing.described import import_network
from plink.model.network import build_network
from plink.simulate.making import schedule_of_table
from plink.simulate.simgrid.platforms import platform_of
from plink.simulate.simgrid.run import EAGER_BYTES, run_schedule
from plink.simulate.simulation import rows_of
from plink.solvers.collectives.registry import find
from plink.solvers.contention.time import TableTimer

PAGE = Path(__file__).resolve().parents[2] / "docs/accuracy.md"
SIZE_BYTES = 20_000_000

# Of an Ethernet frame of 1,514 bytes, so many are the job's.
PAYLOAD = 1448 / 1514

_ROW = re.compile(
    r"^\| (?P<seed>\d+) \| (?P<client>gloo|openmpi) \| (?P<algorithm>[\w-]+) \| "
    r"(?P<order>given|random-\d+) \| 20 MB \| (?P<ms>[\d.e+]+) ms \|",
    re.MULTILINE,
)
# Any subnet of this size deals the same names, racks and sequence.
_SUBNET = IPv4Network("10.140.0.0/24")
_MOST_RANDOM = 8


@dataclass(frozen=True)
class Beside:
    """Measured case beside its simulations; times in seconds."""

    seed: int
    hosts: int
    algorithm: str
    order: str
    measured_s: float
    simulated_s: float
    model_s: float


def beside_measured() -> Iterator[Beside]:
    """Simulate every measured case of 20 MB whose order was drawn from a seed."""
    clusters: dict[int, Cluster] = {}
    for found in _ROW.finditer(PAGE.read_text()):
        seed = int(found["seed"])
        cluster = clusters.setdefault(seed, _cluster(seed))
        network = build_network(cluster).network
        name = f"{found['client']}-{found['algorithm']}"
        table = find(name).table(network.hosts, SIZE_BYTES)
        order = _orders(network.hosts)[found["order"]]
        simulated = run_schedule(
            platform_of(network, rows_of(cluster)),
            schedule_of_table(table),
            order,
            eager_bytes=EAGER_BYTES if found["client"] == "openmpi" else float("inf"),
        )
        # Rates are the links' own, and large buffers take what is left of them.
        yield Beside(
            seed,
            network.hosts,
            name,
            found["order"],
            float(found["ms"]) / 1e3,
            simulated.time_s / PAYLOAD,
            TableTimer(table, network).time_s(np.asarray(order)) / PAYLOAD,
        )


def _cluster(seed: int) -> Cluster:
    """The lab's network as it was described, hosts in the given order."""
    lab = draw(seed)
    with tempfile.TemporaryDirectory() as folder:
        shape = read_shape(Path(lab.options(Path(folder))[1]))
    hosts = place("drawn", shape, seed, _SUBNET).hosts
    text = lab.description({host.name: host.rack for host in hosts}, [host.name for host in hosts])
    return import_network(text.encode(), f"lab {seed}")


def _orders(hosts: int) -> dict[str, list[int]]:
    """Return the orders that `plink bench` draws without a seed."""
    generator = random.Random(0)
    found = {"given": list(range(hosts))}
    for number in range(1, _MOST_RANDOM + 1):
        found[f"random-{number}"] = generator.sample(range(hosts), hosts)
    return found
