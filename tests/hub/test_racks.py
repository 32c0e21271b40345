"""A server in each rack: sums of racks meet at roots, and every rack's server steps alike."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

from engine.certificates import job
from hub.runs import (
    ADMIN_SECRET,
    MANIFEST,
    Outcome,
    Service,
    Threads,
    Twin,
    first_values,
    gradient,
)
from hub.test_serving import HYPERS
from hub.vanishing import vanish
from plink.hub import reference
from plink.hub.admin import create_service_of_racks
from plink.hub.calling import HubError
from plink.hub.hyper import Hyper
from plink.hub.service import ServiceOptions
from plink.hub.serving import Server, ServerOptions
from plink.transport.tls import Tls

ITEMS = MANIFEST.items


@pytest.mark.parametrize(
    ("commit", "racks", "is_encrypted"),
    [("stream", 2, True), ("stream", 3, False), ("step", 2, False), ("step", 3, True)],
)
def test_racks_come_to_the_sum_of_their_sums_bit_for_bit(
    commit: str, racks: int, is_encrypted: bool, tmp_path: Path
) -> None:
    tls = Tls.of_folder(job(tmp_path / "tls") + "/host") if is_encrypted else None
    options = ServiceOptions("job", 2, "momentum", commit=commit, deterministic=True)
    hypers = HYPERS["momentum"]
    with contextlib.ExitStack() as stack:
        its = ServerOptions(["127.0.0.1:0"] * 2, ADMIN_SECRET, 2, (), tls=tls)
        servers = [stack.enter_context(Server(its)) for _ in range(racks)]
        addresses = [server.addresses[0] for server in servers]
        secret = create_service_of_racks(addresses, ADMIN_SECRET, options, tls=tls)
        threads = Threads()

        def work(rack: int) -> tuple[int, Outcome]:
            served = Service([servers[rack]], [addresses[rack]], options, secret, tls=tls)
            with served.worker() as worker:
                is_first = rack == 0 and worker.number == 0
                worker.initialise(first_values(ITEMS) if is_first else np.zeros(ITEMS, np.float32))
                steps = []
                for iteration in range(1, 6):
                    worker.gradients[:] = gradient(10 * rack + worker.number, iteration, ITEMS)
                    steps.append(worker.push_pull(hypers))
                return rack, Outcome(worker.number, worker.values.copy(), steps)

        for rack in range(racks):
            for _ in range(2):
                threads.begin(lambda rack=rack: work(rack))
        outcomes = threads.join()
    twin = Twin(MANIFEST, options)
    for iteration in range(1, 6):
        sums = [
            reference.aggregate([gradient(10 * rack + w, iteration, ITEMS) for w in range(2)])
            for rack in range(racks)
        ]
        twin.step_of(reference.mean(reference.aggregate(sums), 2 * racks), hypers)
    for _, outcome in outcomes:
        assert outcome.steps[-1].workers == 2 * racks
        assert np.array_equal(outcome.values, twin.values)


def test_a_worker_that_is_lost_is_named_in_all_racks() -> None:
    options = ServiceOptions("job", 1)
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(Server(ServerOptions(["127.0.0.1:0"], ADMIN_SECRET, 1, ())))
            for _ in range(2)
        ]
        addresses = [server.addresses[0] for server in servers]
        secret = create_service_of_racks(addresses, ADMIN_SECRET, options)
        first, second = (
            Service([server], [address], options, secret).worker()
            for server, address in zip(servers, addresses, strict=True)
        )
        threads = Threads()
        for worker in (first, second):
            threads.begin(lambda worker=worker: worker.initialise(np.ones(ITEMS, np.float32)))
        threads.join()
        vanish(second)
        with first:
            first.begin([Hyper(lr=0.1)] * 2)
            first.push(0, 5)
            with pytest.raises(HubError, match=r"rack 1 is lost: worker 0 .* is lost"):
                first.wait(20.0)
