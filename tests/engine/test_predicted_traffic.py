"""What the engine sends in each collective is what predictions of it are made from."""

from __future__ import annotations

import numpy as np
import pytest

from engine.forests import binary_tree, chains, random_forest, stars
from engine.group import group
from plink.bench.clients.buffers import buffers_of
from plink.bench.workers.engine_collectives import OPERATIONS
from plink.engine import Engine, Forest
from plink.optimize.plans.traffic import Demand, build_traffic, traffic_bytes
from plink.plans.names import BARRIER, COLLECTIVES, SEND_RECEIVE
from plink.solvers.forests.time import LEAST_CHUNK_BYTES

ELEMENTS = 300_000
SMALL = 15_000
WAIT_S = 30.0
TREES = [name for name in COLLECTIVES if name not in (BARRIER, SEND_RECEIVE)]


def seen(engine: Engine) -> np.ndarray:
    sent = np.zeros(engine.ranks)
    for peer in engine.statistics().peers:
        sent[peer.peer] = peer.bytes_sent
    return sent


@pytest.mark.parametrize(
    "forest", [stars(4), chains(5), binary_tree(6), random_forest(3, 5, 4), random_forest(8, 6, 12)]
)
def test_every_pair_of_ranks_exchanges_what_the_model_says(forest: Forest) -> None:
    with group(forest) as ranks:
        for collective in TREES:
            for elements in (ELEMENTS, SMALL):

                def run(
                    engine: Engine, what: str = collective, count: int = elements
                ) -> np.ndarray:
                    buffers = buffers_of(what, count, engine.rank, engine.ranks)
                    source = np.ones(buffers.input_elements, dtype=np.float32)
                    result = np.empty(buffers.output_elements or 0, dtype=np.float32)
                    before = seen(engine)
                    for work in OPERATIONS[what](engine, source, result):
                        work.wait(WAIT_S)
                    engine.barrier().wait(WAIT_S)
                    return seen(engine) - before

                sent = np.array(ranks.on_all(run))
                size_bytes = 4 * (elements // forest.ranks) * forest.ranks
                expected = traffic_bytes(build_traffic(Demand(collective, size_bytes), forest))
                # Routes have whole chunks, frames have headers, and there was a barrier.
                allowed = 0.05 * size_bytes + 2 * LEAST_CHUNK_BYTES + 200
                assert np.abs(sent - expected).max() < allowed, collective
