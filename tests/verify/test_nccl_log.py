"""NCCL's rings and trees, read from logs, against an order."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from plink.base.errors import PlinkError, WrongUseError
from plink.deploy.nccl_log import parse_nccl_log
from plink.deploy.nccl_order import NcclVerdict, compare_nccl_order
from plink.formats.hosts import Host
from support.cpu_time import least_cpu_s
from support.plink_command import Done, plink_here
from verify.nccl_logs import job
from verify.orders import write_order

VERSIONS = ("2.4.8", "2.7.6", "2.18.5", "2.21.5")
NAMES = ["n03", "n01", "n04", "n02", "n05", "n06", "n07"]


def placed(names: list[str], slots: int) -> list[str]:
    return [name for name in names for _ in range(slots)]


def compared(names: list[str], text: str, slots: int = 1) -> NcclVerdict:
    hosts = [Host(name, f"10.0.0.{number}", slots=slots) for number, name in enumerate(names, 1)]
    return compare_nccl_order(hosts, text, "job.log")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("slots", [1, 4])
@pytest.mark.parametrize("hosts", [2, 3, 6, 7])
def test_a_job_in_the_order_follows_it(version: str, slots: int, hosts: int) -> None:
    names = NAMES[:hosts]
    found = compared(names, job(placed(names, slots), version), slots)
    assert found.kept
    assert found.version == f"{version}+cuda12.2"
    assert [ring.hosts for ring in found.rings] == [names, names]
    assert (found.trees, list(found.other_trees)) == (2, [])
    assert found.networks == ["NET/Socket"]


def test_gpus_within_a_host_and_the_direction_are_nccls_own() -> None:
    names = NAMES[:2]
    there = [0, 2, 3, 1, 5, 4, 7, 6]
    # Alternating rings leave a host by another GPU, and come back in the middle of it.
    back = [0, 1, 6, 7, 5, 4, 2, 3]
    found = compared(names, job(placed(names, 4), "2.20.3", rings=[there, back]), 4)
    assert found.kept
    names = NAMES[:4]
    reverse = [0, 3, 2, 1]
    assert compared(names, job(names, "2.20.3", rings=[[0, 1, 2, 3], reverse])).kept


def test_a_ring_may_come_to_a_host_several_times() -> None:
    for names in (["a", "b", "a"], ["a", "b", "a", "c", "a"], ["a", "b", "a", "b"]):
        hosts = [Host(name, f"10.0.0.{number}") for number, name in enumerate(names, 1)]
        size = len(names)
        rings = [list(range(size)), [0, *range(size - 1, 0, -1)]]
        assert compare_nccl_order(hosts, job(names, "2.20.3", rings=rings), "job.log").kept


@pytest.mark.parametrize("version", VERSIONS)
def test_a_ring_that_goes_another_way_does_not(version: str) -> None:
    names = NAMES[:4]
    found = compared(names, job(names, version, rings=[[0, 1, 2, 3], [0, 2, 1, 3]]))
    assert [ring.is_kept for ring in found.rings] == [True, False]
    assert not found.kept


def test_ranks_on_other_hosts_do_not() -> None:
    found = compared(NAMES[:4], job(sorted(NAMES[:4]), "2.18.5"))
    assert not found.kept
    assert [rank.found for rank in found.ranks] == sorted(NAMES[:4])


def test_a_long_ring_is_known_from_its_ranks_or_else_as_far_as_it_is_written() -> None:
    names = [f"h{number:02d}" for number in range(40)]
    assert [ring.is_whole for ring in compared(names, job(names, "2.18.5")).rings] == [True, True]
    found = compared(names, job(names, "2.18.5", with_neighbours=False))
    assert found.kept
    assert found.rings[0].hosts == names[: len(found.rings[0].hosts)]
    assert 20 <= len(found.rings[0].hosts) < 40
    assert not found.rings[0].is_whole


def test_other_trees_than_the_model_has_are_counted() -> None:
    names = NAMES[:6]
    text = job(names, "2.18.5").replace("->5->4", "->5->3")
    assert list(compared(names, text).other_trees) == [0]


def test_mixed_lines_prefixes_and_other_communicators_are_taken_apart() -> None:
    names = NAMES[:4]
    whole = job(names, "2.21.5").splitlines()
    pairs = job(names[:2], "2.21.5").replace(":41", ":51").splitlines()
    mixed = [
        line for both in zip(whole, [*pairs, *[""] * len(whole)], strict=False) for line in both
    ]
    text = "\n".join(f"[1,0]<stdout>:{line}" for line in mixed)
    found = compared(names, text)
    assert found.kept
    assert len(found.rings) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("loss 0.4\n", "the job's NCCL logs have no lines of NCCL"),
        (job(NAMES[:3], "2.18.5"), "the job's NCCL logs have no job of 4 ranks"),
        (job(["a", "b", "c", "d"], "2.18.5"), "ran on hosts that the order lacks, such as a"),
        (
            "n03:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 4 cudaDev 0 - Init COMPLETE",
            "the logs have no lines of ranks 1, 2, 3 of 4",
        ),
        (job(["94f182076445", "0123456789ab"] * 2, "2.18.5"), "ran in containers"),
    ],
)
def test_logs_that_do_not_tell_are_refused(text: str, said: str) -> None:
    with pytest.raises((PlinkError, WrongUseError), match=said):
        compared(NAMES[:4], text)


DEAD = """\
n03:11:97 [0] NCCL INFO Channel 00/02 :    0   1   2   3
n03:11:97 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 comm 0xaa nRanks 04 busId c1000
n04:12:98 [0] NCCL INFO Trees [0] 3/-1/-1->2->1 comm 0xbb nRanks 04 busId c1000
n01:13:99 [0] NCCL INFO comm 0xcc rank 1 nranks 4 cudaDev 0 busId ce000 - Abort COMPLETE
"""


def test_a_job_that_died_in_its_set_up_is_named_so() -> None:
    with pytest.raises(PlinkError, match="failed while NCCL was setting it up: rank 1 on n01"):
        compared(NAMES[:4], DEAD)


def test_machines_are_known_by_the_addresses_that_nccl_uses() -> None:
    ids = ["94f182076445", "2be7fa6883db", "0a1b2c3d4e5f"]
    for using in ("Bootstrap : Using [0]eth0:{0}<0>", "Bootstrap: Using eth0:{0}<0>"):
        lines = [
            f"10.0.0.{n}: {name}:1:2 [0] NCCL INFO {using.format(f'10.0.0.{n}')}\n"
            for n, name in enumerate(ids, 1)
        ]
        found = compared(NAMES[:3], "".join(lines) + job(ids, "2.18.5"))
        assert found.kept
        assert [ring.hosts for ring in found.rings] == [NAMES[:3]] * 2


@pytest.mark.parametrize(
    "prefix", ["\x1b[32m", "0: ", "[0] ", "10.0.0.7: ", "2026-01-02T03:04:05Z ", "[pod/a/b] "]
)
def test_prefixes_hide_no_line(prefix: str) -> None:
    text = "".join(f"{prefix}{line}\n" for line in job(NAMES[:4], "2.18.5").splitlines())
    assert compared(NAMES[:4], text).kept


def test_long_lines_take_linear_time() -> None:
    log = "\n".join(["a" * 60_000, "a:" * 30_000, f"{'a' * 60_000} NCCL INFO x"] * 9)
    assert least_cpu_s(lambda: parse_nccl_log(log, 2), 2.0) < 2.0


def test_no_log_breaks_it() -> None:
    hostile = "x:1:2 [0] NCCL INFO "
    for said in (
        "Trees [0] --/-1->1->--",
        "Channel 00 : 9 9",
        "Ring 00 : 1 -> 1 -> 1",
        "Trees " * 999,
    ):
        parse_nccl_log(f"{hostile}{said}\n{hostile}rank 0 nranks 2 Init COMPLETE", 2)
    parse_nccl_log(f"{hostile}rank 7 nranks 2 Init COMPLETE", 2)


def verified(tmp_path: Path, text: str, *more: str) -> Done:
    order, log = tmp_path / "o.json", tmp_path / "job.log"
    write_order(order, [Host(name, "10.0.0.1") for name in NAMES[:4]])
    log.write_text(text)
    return plink_here("verify", order, "--launcher", "nccl", "--log", log, *more)


def as_rccl(log: str) -> str:
    """As RCCL logs the same, by its sources and published logs."""
    found = re.sub(r"NCCL version (\S+)", r"RCCL version : 2.27.7-HEAD:96a25b5", log, count=1)
    return re.sub(r"(Ring \d+ : .*)", r"\1 comm 0x7f00 nRanks 04 busId c3000", found)


def test_rccls_own_rings_are_told(tmp_path: Path) -> None:
    # What RCCL makes of four hosts on gfx1151: genRingsN_4 in src/graph/rccl_graph_gen.cc.
    own = [[0, 1, 2, 3], [0, 2, 1, 3], [0, 1, 3, 2], [0, 3, 2, 1], [0, 3, 1, 2], [0, 2, 3, 1]]
    done = verified(tmp_path, as_rccl(job(NAMES[:4], "2.18.5", rings=own)))
    assert done.code == 4
    assert done.stdout.splitlines()[:3] == [
        "RCCL 2.27.7-HEAD does not follow the order: 4 ranks on 4 hosts, 6 rings",
        "another way than the order: 4 of 6 rings; ring 01 goes n03 n04 n01 n02",
        (
            "rings go through the hosts in 3 ways: no order decides those that the library makes "
            "itself, as RCCL does on gfx1151"
        ),
    ]
    done = verified(tmp_path, as_rccl(job(NAMES[:4], "2.18.5")))
    assert (done.code, "ways" in done.stdout) == (0, False)


def test_a_long_ring_of_rccl_is_known_from_its_ranks() -> None:
    log = as_rccl(job([f"h{number}" for number in range(40)], "2.18.5"))
    assert len(parse_nccl_log(log, 40).rings[0]) == 40


def test_the_command_says_what_nccl_did(tmp_path: Path) -> None:
    done = verified(tmp_path, job(NAMES[:4], "2.18.5"))
    assert (done.code, done.stdout.splitlines()) == (
        0,
        [
            "NCCL 2.18.5+cuda12.2 follows the order: 4 ranks on 4 hosts, 2 rings",
            "ring 00 goes n03 n01 n04 n02",
            "trees: all 2 join hosts as plink order --algo nccl-tree expects",
            "between hosts: NET/Socket",
        ],
    )
    done = verified(tmp_path, job(NAMES[:4], "2.18.5", rings=[[0, 2, 1, 3]]), "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    assert (done.code, found["kept"]) == (4, False)
    assert found["rings"][0]["hosts"] == ["n03", "n04", "n01", "n02"]
    done = verified(tmp_path, job(NAMES[:4], "2.18.5", rings=[[0, 1, 2, 3], [0, 2, 1, 3]]))
    assert done.stdout.splitlines()[:2] == [
        "NCCL 2.18.5+cuda12.2 does not follow the order: 4 ranks on 4 hosts, 2 rings",
        "another way than the order: 1 of 2 rings; ring 01 goes n03 n04 n01 n02",
    ]
    done = verified(tmp_path, "", "--python", "python3")
    assert "no job is started" in done.stderr
