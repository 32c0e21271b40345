"""Real sub-groups of Gloo on hosts of a lab: what plink's order of a mesh is worth."""

from __future__ import annotations

import statistics

import pytest

from benchkit.labs import bench_lab
from benchkit.processes import answers_of_ranks
from mesh.meshes import racks
from plink.files.mesh import parse_mesh
from plink.files.structs import encode
from plink.solvers.collectives.mesh import Dimension, mesh_form
from plink.solvers.collectives.registry import find
from plink.solvers.orders.latency_search import search_by_latency
from support.require import require_client, require_root

MESH = parse_mesh("tp=2,dp=2", "tp=1MB,dp=50KB", 1)


@pytest.mark.lab
def test_the_heavy_dimension_is_quicker_within_racks() -> None:
    require_root()
    require_client("gloo")
    shape = ("--racks", "2", "--hosts", "2", "--hops", "0")
    rates = ("--host-rate", "50mbit", "--uplink-rate", "50mbit")
    with bench_lab(*shape, *rates, "--seed", "3") as lab:
        hosts = lab.in_rack_order()
        # Rank 0 and rank 2 are a group of tp: as listed, in different racks.
        ring = find("ring")
        form = mesh_form([Dimension(2, ring, 1_000_000), Dimension(2, ring, 50_000)])
        near = racks([2, 2], 1)
        place = sorted(range(4), key=lambda host: (near[0, host] > 50.0, host))
        in_racks = near[place][:, place]
        order = search_by_latency(form, in_racks).order
        answers = answers_of_ranks(
            lab,
            hosts,
            "mesh_rank",
            orders={"given": [0, 1, 2, 3], "plink": [list(order).index(at) for at in range(4)]},
            dimensions=encode(MESH.dimensions),
            rounds=2,
            repetitions=2,
        )
    slowest = {
        name: [max(times) for times in zip(*(answer[name] for answer in answers), strict=True)]
        for name in ("given", "plink")
    }
    # Two groups of tp share an uplink in one order, and none in the other.
    ratio = statistics.median(slowest["plink"]) / statistics.median(slowest["given"])
    assert ratio < 0.8
