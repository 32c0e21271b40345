"""Peer tables against what the real libraries put on the wire, byte by byte and host by host."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from collectives.traffic import check, differing, run_gloo, run_mpi, sent
from plink.bench.clients.mpi_flavours import FLAVOURS
from support.lab import Lab
from support.require import require_client

pytestmark = [pytest.mark.lab, pytest.mark.needs("mpi")]

COUNTS = (8, 12)

# `coll/tuned`'s numbers. Segments of 16 KiB, so that even this buffer has several phases.
OPENMPI = {
    "openmpi-linear": (1, 0),
    "openmpi-recursive-doubling": (3, 0),
    "openmpi-ring": (4, 0),
    "openmpi-segmented-ring": (5, 16384),
    "openmpi-rabenseifner": (6, 0),
}

# Numbers of the names in MPICH's lists of algorithms; 1 lets a blocking allreduce be the other.
INTRA = "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM"
NONBLOCKING = "MPIR_CVAR_IALLREDUCE_INTRA_ALGORITHM"
MPICH = {
    "mpich-recursive-doubling": {INTRA: 3},
    "mpich-reduce-scatter-allgather": {INTRA: 4},
    "mpich-tree": {INTRA: 1, NONBLOCKING: 8},
    "mpich-ring": {INTRA: 1, NONBLOCKING: 9},
}
# MPICH reads what kind of tree it is when it starts.
MPICH_AT_START = {
    "mpich-tree-knomial": {
        INTRA: "nb",
        NONBLOCKING: "tsp_tree",
        "MPIR_CVAR_IALLREDUCE_TREE_TYPE": "knomial_1",
    },
}


@pytest.fixture(scope="module")
def openmpi_traffic(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every algorithm of Open MPI in one launch: its launcher takes longer than all of them."""
    require_client("openmpi")
    folder = tmp_path_factory.mktemp("openmpi")
    variables = "{}:coll_tuned_allreduce_algorithm={},{}={}"
    segment = "coll_tuned_allreduce_algorithm_segmentsize"
    choices = [
        variables.format(name, number, segment, size) for name, (number, size) in OPENMPI.items()
    ]
    run_mpi(lab, FLAVOURS["openmpi"], folder, COUNTS, choices=choices, environment={})
    return folder


@pytest.mark.parametrize("name", OPENMPI)
def test_open_mpi_sends_what_its_table_says(lab: Lab, openmpi_traffic: Path, name: str) -> None:
    for ranks in COUNTS:
        check(lab, openmpi_traffic, name, ranks)


def test_what_was_sent_tells_algorithms_apart(lab: Lab, openmpi_traffic: Path) -> None:
    rings = {"openmpi-ring", "openmpi-segmented-ring", "mpich-ring"}
    doubling = {"openmpi-recursive-doubling", "mpich-recursive-doubling"}
    for name in OPENMPI:
        measured = sent(lab, openmpi_traffic, name, 12)
        alike = {
            other
            for other in [*OPENMPI, *MPICH, *MPICH_AT_START, "gloo-ring"]
            if not len(differing(measured, other))
        }
        assert alike == next((kind for kind in (rings, doubling) if name in kind), {name})


@pytest.mark.parametrize("ranks", COUNTS)
def test_the_segmented_ring_really_sends_segments(
    lab: Lab, openmpi_traffic: Path, ranks: int
) -> None:
    """Open MPI answers a message above 64 KiB before it flows: one small answer against the ring.

    Blocks are larger than that in both halves of the ring, and only in the second half of the
    segmented one, whose segments are smaller in the first.
    """
    every = np.arange(ranks)
    answers = {
        name: sent(lab, openmpi_traffic, name, ranks)[(every + 1) % ranks, every].mean()
        for name in ("openmpi-ring", "openmpi-segmented-ring")
    }
    assert 0.4 < answers["openmpi-segmented-ring"] / answers["openmpi-ring"] < 0.6


def test_mpich_sends_what_its_tables_say(lab: Lab, tmp_path: Path) -> None:
    require_client("mpich")
    choices = [
        f"{name}:{','.join(f'{variable}={value}' for variable, value in chosen.items())}"
        for name, chosen in MPICH.items()
    ]
    run_mpi(lab, FLAVOURS["mpich"], tmp_path, COUNTS, choices=choices, environment={})
    for name, environment in MPICH_AT_START.items():
        run_mpi(lab, FLAVOURS["mpich"], tmp_path, COUNTS, choices=[name], environment=environment)
    for name in (*MPICH, *MPICH_AT_START):
        for ranks in COUNTS:
            check(lab, tmp_path, name, ranks)


def test_gloo_of_torch_sends_what_its_table_says(lab: Lab, tmp_path: Path) -> None:
    require_client("gloo")
    run_gloo(lab, tmp_path, COUNTS)
    for ranks in COUNTS:
        check(lab, tmp_path, "gloo-ring", ranks)
