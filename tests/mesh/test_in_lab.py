"""Real sub-groups of Gloo on hosts of a lab: plink's order keeps most bytes within racks.

How much quicker that is, `scripts/bench mesh` measures.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchkit.labs import bench_lab
from benchkit.processes import answers_of_ranks
from labkit.namespaces import inside
from labkit.wiring import UP_PORT, namespace
from mesh.meshes import racks
from plink.formats.mesh import parse_mesh
from plink.formats.structs import encode
from plink.solvers.collectives.mesh import Dimension, mesh_form
from plink.solvers.collectives.registry import find
from plink.solvers.orders.latency_search import search_by_latency
from support.require import require_client, require_root

MESH = parse_mesh("tp=2,dp=2", "tp=1MB,dp=50KB", 1)


REPETITIONS = 2


def uplink_bytes(lab: str, rack: str) -> int:
    """Count the bytes that a rack's uplink has carried, in both directions."""
    with inside(namespace(lab, rack)):
        lines = Path("/proc/thread-self/net/dev").read_text().splitlines()
    (counts,) = [line.split()[1:] for line in lines if line.split()[0] == f"{UP_PORT}:"]
    return int(counts[0]) + int(counts[8])


@pytest.mark.lab
def test_the_heavy_dimension_stays_within_racks() -> None:
    require_root()
    require_client("gloo")
    shape = ("--racks", "2", "--hosts", "2", "--hops", "0", "--seed", "3")
    with bench_lab(*shape) as lab:
        # Rank 0 and rank 2 are a group of tp: as listed, in different racks.
        ring = find("ring")
        form = mesh_form([Dimension(2, ring, 1_000_000), Dimension(2, ring, 50_000)])
        near = racks([2, 2], 1)
        place = sorted(range(4), key=lambda host: (near[0, host] > 50.0, host))
        in_racks = near[place][:, place]
        order = search_by_latency(form, in_racks).order
        answers = answers_of_ranks(
            lab,
            lab.in_rack_order(),
            "mesh_rank",
            orders={"plink": [list(order).index(at) for at in range(4)]},
            dimensions=encode(MESH.dimensions),
            rounds=1,
            repetitions=REPETITIONS,
        )
        crossed = uplink_bytes(lab.name, "r1")
    assert [len(answer["plink"]) for answer in answers] == [REPETITIONS] * 4
    # An iteration is not counted; a ring of two sends each buffer once each way, in two groups.
    iterations = 1 + REPETITIONS
    assert 4 * 50_000 * iterations < crossed < 4 * 1_000_000 * iterations / 2
