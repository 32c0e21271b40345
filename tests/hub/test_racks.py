"""A server in each rack: sums of racks meet at roots, and every rack's server steps alike."""

from __future__ import annotations

import contextlib
import math
import re
import socket
from collections.abc import Iterator
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
from plink.hub.worker import Worker
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


@contextlib.contextmanager
def service_of_racks(racks: int, options: ServiceOptions) -> Iterator[list[Service]]:
    """As each rack's workers see it."""
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(Server(ServerOptions(["127.0.0.1:0"], ADMIN_SECRET, 1, ())))
            for _ in range(racks)
        ]
        addresses = [server.addresses[0] for server in servers]
        secret = create_service_of_racks(addresses, ADMIN_SECRET, options)
        yield [
            Service([server], [address], options, secret)
            for server, address in zip(servers, addresses, strict=True)
        ]


def test_servers_call_each_other_from_port_to_port() -> None:
    """Else all that a server sends to others, and hears from them, goes by one interface."""
    ports = ["127.0.0.1:0", "127.0.0.2:0"]
    with contextlib.ExitStack() as stack:
        options = ServerOptions(ports, ADMIN_SECRET, 2, ())
        first, second = (stack.enter_context(Server(options)) for _ in range(2))
        addresses = [first.addresses[0], second.addresses[0]]
        secret = create_service_of_racks(addresses, ADMIN_SECRET, ServiceOptions("job", 1))
        threads = Threads()
        for server in (first, second):
            worker = stack.enter_context(Worker([server.addresses[0]], "job", secret, MANIFEST))
            threads.begin(lambda worker=worker: worker.initialise(np.ones(ITEMS, np.float32)))
        threads.join()
        called = {address.partition(":")[0]: established(address) for address in first.addresses}
    assert "127.0.0.1" in called["127.0.0.1"]
    assert "127.0.0.2" in called["127.0.0.2"]


def established(address: str) -> set[str]:
    """From where connections to it come."""
    host, _, port = address.partition(":")
    wanted = f"{int.from_bytes(socket.inet_aton(host), 'little'):08X}:{int(port):04X}"
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    rows = [line.split()[1:4] for line in lines]
    return {
        socket.inet_ntoa(int(peer.partition(":")[0], 16).to_bytes(4, "little"))
        for own, peer, state in rows
        if (own, state) == (wanted, "01")
    }


def test_a_worker_that_is_lost_is_named_in_all_racks() -> None:
    with service_of_racks(2, ServiceOptions("job", 1)) as servings:
        first, second = (its.worker() for its in servings)
        threads = Threads()
        for worker in (first, second):
            threads.begin(lambda worker=worker: worker.initialise(np.ones(ITEMS, np.float32)))
        threads.join()
        vanish(second)

        def go_on() -> None:
            # It may hear of it at any of these.
            first.begin([Hyper(lr=0.1)] * 2)
            first.push(0, 5)
            first.wait(20.0)

        with first, pytest.raises(HubError, match=r"rack 1: worker 0 .* is lost"):
            go_on()


@pytest.mark.parametrize(
    ("racks", "hypers", "difference"),
    [
        (2, {"lr": 0.2}, "lr of group 1 is 0.1 for {} and 0.2 for {}"),
        (3, {"lr": 0.2}, "lr of group 1 is 0.1 for {} and 0.2 for {}"),
        (2, {"lr": 0.1, "beta2": 0.99}, "beta2 of group 1 is 0.999 for {} and 0.99 for {}"),
        (
            2,
            {"lr": math.nextafter(0.1, 1.0)},
            "lr of group 1 is 0.10000000000000001 for {} and 0.10000000000000002 for {}",
        ),
    ],
)
def test_racks_that_disagree_on_hyperparameters_are_named_and_nothing_is_stepped(
    racks: int, hypers: dict[str, float], difference: str
) -> None:
    options = ServiceOptions("job", 1, "adam")
    with service_of_racks(racks, options) as servings:
        threads = Threads()

        def work(rack: int) -> None:
            with servings[rack].worker() as worker:
                worker.initialise(np.ones(ITEMS, np.float32))
                worker.push_pull([Hyper(lr=0.1)] * 2)
                its = Hyper(**hypers) if rack == racks - 1 else Hyper(lr=0.1)
                before = worker.values.copy()
                try:
                    worker.push_pull([Hyper(lr=0.1), its])
                finally:
                    assert np.array_equal(worker.values, before)

        for rack in range(racks):
            threads.begin(lambda rack=rack: work(rack))
        threads.end()
    assert len(threads.failures) == racks
    others = r"worker 0 of rack [01]", f"worker 0 of rack {racks - 1}"
    sentence = "^racks have different hyperparameters in iteration 2: " + difference.format(*others)
    for error in threads.failures.values():
        assert re.search(sentence, str(error))
