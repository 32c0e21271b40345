"""Ranks agree on new numbers, or all of them raise one error in time: with real sockets."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import plink
from plink.base.errors import PlinkError, WrongUseError
from plink.engine.store import Store
from plink.renumber import job, measuring, tcp_store
from plink.renumber.host_identity import own_domain, parse_driver_domain
from plink.renumber.launch import Placement, read_launch
from plink.renumber.measuring import MeasuringPort
from plink.renumber.meeting import Meeting, RefusedError
from plink.renumber.members import Member
from plink.renumber.source import RenumberRequest
from plink.renumber.standalone import renumber_process
from plink.renumber.tcp_store import ABSENT, MAGIC, TcpStore, serve
from support.ports import reserved_port
from torchrun.networks import RACKS, order_of, racks

HOSTS = ["a", "a", "b", "b"]
# Of a meeting that no rank misses, also on a busy machine.
MEETING_S = 60.0
WITHIN_S = 120.0


@pytest.fixture
def port() -> Iterator[int]:
    with reserved_port("") as number:
        yield number


@pytest.fixture
def order(tmp_path: Path) -> str:
    order_of(["b", "a"]).save(tmp_path / "order.json")
    return str(tmp_path / "order.json")


def run(
    port: int,
    request: RenumberRequest,
    environments: Sequence[Mapping[str, str]],
    requests: Mapping[int, RenumberRequest] | None = None,
) -> list[Placement | PlinkError]:
    """What each process of a job gets, each in a thread of its own."""

    def process(number: int) -> Placement | PlinkError:
        asked = (requests or {}).get(number, request)
        try:
            return renumber_process(asked, f"127.0.0.1:{port}", environments[number])[0]
        except PlinkError as error:
            return error

    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(len(environments)) as threads:
        found = list(threads.map(process, range(len(environments))))
    assert time.monotonic() - began < WITHIN_S
    return found


def environment(rank: int | str, host: str, **more: str) -> dict[str, str]:
    named = {"RANK": str(rank), "WORLD_SIZE": "4", "PLINK_HOST": host}
    return {**named, "PLINK_SOCKET_IFNAME": "lo", **more}


def job_of(hosts: Sequence[str]) -> list[dict[str, str]]:
    return [environment(rank, host) for rank, host in enumerate(hosts)]


def ranks(found: Sequence[Placement | PlinkError]) -> list[int]:
    return [one.rank if isinstance(one, Placement) else -1 for one in found]


def refusals(found: Sequence[object]) -> set[str]:
    assert all(isinstance(one, RefusedError) for one in found), found
    return {str(one) for one in found}


def test_ranks_follow_the_file(port: int, order: str) -> None:
    found = run(port, RenumberRequest(order, timeout_s=MEETING_S), job_of(HOSTS))
    assert ranks(found) == [2, 3, 0, 1]
    last = found[3]
    assert isinstance(last, Placement)
    assert (last.local_rank, last.local_ranks, last.host_rank) == (1, 2, 0)
    assert (last.hosts, last.former_ranks) == (["b", "a"], [2, 3, 0, 1])
    # The same with ranks dealt out in turn.
    assert ranks(run(port, RenumberRequest(order), job_of(["a", "b", "a", "b"]))) == [2, 0, 3, 1]


def test_a_loaded_order_a_cluster_and_a_mesh_serve_as_well(port: int) -> None:
    loaded = RenumberRequest(loaded=order_of(["b", "a"]))
    assert ranks(run(port, loaded, job_of(HOSTS))) == [2, 3, 0, 1]
    hosts = ["a0", "b0", "a1", "b1"]
    found = run(port, RenumberRequest(loaded=racks(RACKS)), job_of(hosts))
    new = ranks(found)
    # Hosts of a rack are neighbours in the ring.
    assert (new[0] - new[2]) % 4 in (1, 3)
    mesh = RenumberRequest(loaded=racks(RACKS), mesh="dp=2,tp=2")
    new = ranks(run(port, mesh, job_of(hosts)))
    # In a row or in a column of the mesh.
    assert abs(new[0] - new[2]) in (1, 2)
    assert {new[0], new[2]} != {1, 2}


def test_a_domain_stays_together_whatever_was_measured(port: int) -> None:
    jobs = job_of(["a0", "b0", "a1", "b1"])
    for place, domain in ((0, "x"), (1, "x"), (2, "y"), (3, "y")):
        jobs[place]["PLINK_NVLINK_DOMAIN"] = domain
    new = ranks(run(port, RenumberRequest(loaded=racks(RACKS)), jobs))
    assert abs(new[0] - new[1]) == 1
    assert {new[0] // 2, new[2] // 2} == {0, 1}


WRONG = {
    "other hosts": (
        {2: environment(2, "c"), 3: environment(3, "c")},
        "the order is for other hosts: it does not have c",
    ),
    "a number twice": ({3: environment(2, "b")}, "two processes have rank 2: "),
    "another size": ({3: environment(3, "b", WORLD_SIZE="5")}, "ranks differ in the world size"),
    "a size that most have": (
        {0: environment(0, "a", WORLD_SIZE="2")},
        "ranks differ in the world size: rank 0 has 2, rank 1 has 4",
    ),
    "no host name": ({1: environment(1, "-x")}, "rank 1 on "),
    "rank 0 twice": ({1: environment(0, "a")}, "two processes have rank 0: "),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_to_every_process(
    case: str, port: int, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The store ends sooner only once all ranks have come.
    monkeypatch.setattr(tcp_store, "_LATE_S", MEETING_S)
    others, said = WRONG[case]
    jobs = [others.get(rank, job) for rank, job in enumerate(job_of(HOSTS))]
    (message,) = refusals(run(port, RenumberRequest(order, timeout_s=MEETING_S), jobs))
    assert message.startswith(said)


@pytest.mark.parametrize("case", ["a size that most have", "no host name", "rank 0 twice"])
def test_a_rank_that_comes_after_a_refusal_is_told_why(
    case: str, port: int, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The store ends sooner only once all ranks have come.
    monkeypatch.setattr(tcp_store, "_LATE_S", MEETING_S)
    monkeypatch.setattr(job, "_UNCOUNTED_S", MEETING_S)
    others, said = WRONG[case]
    jobs = [others.get(rank, job) for rank, job in enumerate(job_of(HOSTS))]
    request = RenumberRequest(order, timeout_s=MEETING_S)
    with concurrent.futures.ThreadPoolExecutor() as threads:
        early = threads.submit(run, port, request, jobs[:3])
        time.sleep(1.0)
        late = run(port, request, jobs[3:])
        (message,) = refusals([*early.result(), *late])
    assert message.startswith(said)


def test_a_key_is_the_new_rank_agreed_upon_here_or_by_plink_renumber(
    port: int, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting = f"127.0.0.1:{port}"
    for name, value in {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PLINK_HOST", "b")
    monkeypatch.setenv("PLINK_RANK", "3")
    assert plink.mpi_key() == 3
    # What is asked for here is agreed upon here.
    assert plink.mpi_key(order, meeting=meeting) == 0
    monkeypatch.setenv("PLINK_RANK", "three")
    with pytest.raises(WrongUseError):
        plink.mpi_key()


def test_ranks_that_disagree_on_the_order_are_told_so(
    port: int, order: str, tmp_path: Path
) -> None:
    other = tmp_path / "other.json"
    order_of(["a", "b"]).save(other)
    for request, words in (
        (RenumberRequest(str(other)), "other.json"),
        (RenumberRequest("probe"), "probe"),
    ):
        (message,) = refusals(run(port, RenumberRequest(order), job_of(HOSTS), {2: request}))
        assert message.startswith("ranks disagree on the order")
        assert words in message
        assert "on rank 2" in message
    absent = RenumberRequest(str(tmp_path / "nowhere.json"))
    (message,) = refusals(run(port, RenumberRequest(order), job_of(HOSTS), {3: absent}))
    assert "nowhere.json" in message


def test_a_rank_that_does_not_come_is_named_to_those_that_did(
    port: int, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = Meeting.members

    def members_after_two(meeting: Meeting, own: Member) -> list[Member]:
        meeting.wait_for([1, 2], MEETING_S)
        return members(meeting, own)

    monkeypatch.setattr(Meeting, "members", members_after_two)
    patient = RenumberRequest(order, timeout_s=MEETING_S)
    impatient = RenumberRequest(order, timeout_s=1.0)
    (message,) = refusals(run(port, patient, job_of(HOSTS)[:3], {0: impatient}))
    assert message == "rank 3 of 4 was not heard for 1 s"
    alone = run(port, RenumberRequest(order, timeout_s=0.5), job_of(HOSTS)[1:2])
    assert "no meeting place at 127.0.0.1" in str(alone[0])


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({}, "this process has no rank"),
        ({"RANK": "1"}, "RANK is set in this process, but WORLD_SIZE is not"),
        ({"RANK": "4", "WORLD_SIZE": "4"}, "RANK=4 is no rank of WORLD_SIZE=4"),
        ({"RANK": "-1", "WORLD_SIZE": "4"}, "RANK='-1' is no whole number"),
    ],
)
def test_a_process_without_a_rank_says_so_at_once(told: dict[str, str], said: str) -> None:
    with pytest.raises(WrongUseError) as raised:
        read_launch(told)
    assert str(raised.value).startswith(said)
    assert raised.value.hint or "whole number" in said


def probed(folder: Path, on_failure: Any = "launcher") -> RenumberRequest:
    return RenumberRequest(f"probe:{folder}", on_failure=on_failure, timeout_s=MEETING_S)


def test_hosts_are_measured_once_and_checked_the_next_time(
    port: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert sorted(ranks(run(port, probed(tmp_path), job_of(HOSTS)))) == [0, 1, 2, 3]
    assert "2 hosts measured from inside the job" in capfd.readouterr().err
    (file,) = tmp_path.glob("*.npz")
    assert sorted(plink.MeasuredCluster.read(file).names) == ["a", "b"]
    new = ranks(run(port, probed(tmp_path), job_of(HOSTS)))
    assert sorted(new) == [0, 1, 2, 3]
    said = capfd.readouterr().err
    assert "still holds" in said or "measured anew" in said


def test_groups_are_found_once_and_kept_with_what_was_measured(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = [f"{rack}{place}" for rack in "abc" for place in range(3)]
    cluster = racks(network)
    hosts = [*network[::3], *network[1::3], *network[2::3]]
    jobs = [environment(rank, host, WORLD_SIZE="9") for rank, host in enumerate(hosts)]
    monkeypatch.setattr(measuring, "measured", lambda *_, **__: cluster)
    first = ranks(run(port, probed(tmp_path), jobs))
    (file,) = tmp_path.glob("*.npz")
    found = sorted(sorted(group.hosts) for group in plink.MeasuredCluster.read(file).groups)
    assert found == [network[:3], network[3:6], network[6:]]
    ring = [host[0] for _, host in sorted(zip(first, hosts, strict=True))]
    assert sum(one != other for one, other in zip(ring, ring[1:] + ring[:1], strict=True)) == 3
    # They are there the next time.
    monkeypatch.setattr(measuring, "still_holds", lambda *_, **__: True)
    monkeypatch.delattr(measuring, "find_groups")
    assert ranks(run(port, probed(tmp_path), jobs)) == first


@pytest.mark.parametrize("on_failure", ["launcher", "error"])
def test_a_rank_that_dies_while_measuring_leaves_the_launchers_order(
    on_failure: str,
    port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(measuring, "_ALL_WITHIN_S", 0.5)
    monkeypatch.setattr(job, "_BACK_S", 0.5)
    gone = threading.Event()

    def die(_port: MeasuringPort, number: int) -> None:
        if number == 2:
            gone.set()
            raise SystemExit

    monkeypatch.setattr(job, "take_part", die)
    jobs = job_of(HOSTS)

    def process(rank: int) -> Placement | PlinkError | None:
        try:
            asked = probed(tmp_path, on_failure)
            return renumber_process(asked, f"127.0.0.1:{port}", jobs[rank])[0]
        except PlinkError as error:
            return error
        except SystemExit:
            return None

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        found = list(threads.map(process, range(4)))
    assert gone.is_set()
    assert found[2] is None
    rest = [found[rank] for rank in (0, 1, 3)]
    warnings = capfd.readouterr().err.count("warning: ranks stay as the launcher numbered them")
    if on_failure == "launcher":
        assert [one.rank for one in rest if isinstance(one, Placement)] == [0, 1, 3]
        assert warnings == 1
    else:
        assert all(isinstance(one, RefusedError) for one in rest)
        assert warnings == 0


def test_a_fault_of_rank_0_reaches_all_ranks(
    port: int, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("none left")

    monkeypatch.setattr(job, "_numbered", fail)
    jobs = job_of(HOSTS)

    def process(rank: int) -> BaseException | None:
        try:
            renumber_process(RenumberRequest(order), f"127.0.0.1:{port}", jobs[rank])
        except (PlinkError, MemoryError) as error:
            return error
        return None

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        first, *rest = threads.map(process, range(4))
    assert isinstance(first, MemoryError)
    assert refusals(rest) == {"rank 0 failed: MemoryError: none left"}


DRIVER = """
    Fabric
        State                             : Completed
        Status                            : Success
        CliqueId                          : {clique}
        ClusterUUID                       : {cluster}
"""


def test_a_domain_is_what_drivers_and_slurm_name() -> None:
    uuid = "0f16e9d2-1b7a-4b6e-9b0a-5d2f0c7f1a11"
    gpu = DRIVER.format(cluster=uuid, clique=7)
    assert parse_driver_domain(gpu * 4) == f"{uuid}.7"
    assert parse_driver_domain(gpu + DRIVER.format(cluster=uuid, clique=8)) == ""
    none = "00000000-0000-0000-0000-000000000000"
    assert parse_driver_domain(DRIVER.format(cluster=none, clique=0)) == ""
    assert parse_driver_domain(DRIVER.format(cluster="N/A", clique="N/A")) == ""
    block = {"SLURM_TOPOLOGY_ADDR": "b12.node7", "SLURM_TOPOLOGY_ADDR_PATTERN": "block.node"}
    assert own_domain(block) == "b12"
    tree = {"SLURM_TOPOLOGY_ADDR": "s0.s2.n7", "SLURM_TOPOLOGY_ADDR_PATTERN": "switch.switch.node"}
    assert own_domain(tree) == ""
    assert own_domain({**block, "PLINK_NVLINK_DOMAIN": "mine"}) == "mine"


@pytest.fixture
def store(port: int) -> Iterator[Store]:
    with serve(port, 2):
        found = TcpStore("127.0.0.1", port, MEETING_S)
        try:
            yield found
        finally:
            found.close()


def test_the_store_gives_what_was_set_first_and_waits(store: TcpStore, port: int) -> None:
    assert store.claim("key", b"one") == b"one"
    assert store.claim("key", b"two") == b"one"
    store.set("key", b"")
    assert store.get("key", 0.0) == b""
    with pytest.raises(TimeoutError):
        store.get("other", 0.05)
    other = TcpStore("127.0.0.1", port, MEETING_S)
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(other.get, "late", MEETING_S)
        store.set("late", b"there")
        assert waiting.result() == b"there"
    other.close()


def test_a_late_answer_is_not_taken_for_that_to_a_later_request(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_answer = threading.Event()
    answer = tcp_store._Server._answer

    async def answer_late(server: Any, reader: asyncio.StreamReader) -> bytes | None:
        content = await answer(server, reader)
        await asyncio.to_thread(may_answer.wait, WITHIN_S)
        return content

    monkeypatch.setattr(tcp_store._Server, "_answer", answer_late)
    monkeypatch.setattr(tcp_store, "_ANSWER_S", 0.2)
    with serve(port, 1), contextlib.closing(TcpStore("127.0.0.1", port, MEETING_S)) as client:
        with pytest.raises(TimeoutError):
            client.set("key", b"value")
        may_answer.set()
        with pytest.raises(TimeoutError):
            client.get("other", 0.0)


def test_a_caller_that_reaches_itself_has_found_no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = []

    def connect_to_itself(*_: object) -> socket.socket:
        caller = socket.socket()
        caller.bind(("127.0.0.1", 0))
        caller.connect(caller.getsockname())
        addresses.append(caller.getsockname())
        return caller

    monkeypatch.setattr(tcp_store.socket, "create_connection", connect_to_itself)
    with pytest.raises(PlinkError, match="no meeting place"):
        TcpStore("127.0.0.1", 1, 0.0)
    # Rank 0 can still listen there.
    socket.create_server(addresses[0]).close()


def test_the_store_keeps_nothing_of_keys_that_nobody_sets(port: int) -> None:
    server = tcp_store._Server(1)
    thread = threading.Thread(target=server.run, args=(tcp_store._listen(port),), daemon=True)
    thread.start()
    client = TcpStore("127.0.0.1", port, MEETING_S)
    for number in range(50):
        with pytest.raises(TimeoutError):
            client.get(f"key {number}", 0.001)
    assert server._waiters == {}
    for _ in range(50):
        client.set("key", bytes(1000))
    assert server._bytes < 3000
    client.close()
    server.end()
    thread.join(WITHIN_S)


@pytest.mark.parametrize(
    "content",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        MAGIC + b"X" + bytes(10),
        MAGIC + b"S\xff\xff" + bytes(8),
        MAGIC + b"S\x00\x01\xff\xff\xff\xff" + bytes(4),
        MAGIC + b"S\x00\x01" + bytes(8) + b"\xff",
    ],
)
def test_strangers_at_the_port_are_hung_up_on(store: TcpStore, port: int, content: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), MEETING_S) as stranger:
        stranger.sendall(content)
        stranger.shutdown(socket.SHUT_WR)
        assert stranger.recv(1 << 10) == b""
    store.set("key", b"value")
    assert store.get("key", 0.0) == b"value"
    assert len(b"value") < ABSENT
