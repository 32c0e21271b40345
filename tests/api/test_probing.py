"""`plink.probe`: what it asks for, returns, warns of and refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plink
from api.clusters import rack_cluster, rack_names
from plink.base.progress import ProgressListener as Steps
from plink.base.replacing import replace
from plink.formats.cluster import Cluster, Unreachable
from plink.formats.hosts import Group
from plink.formats.measurements import Failure
from plink.formats.order_basis import is_made_from
from plink.measure.drift.judge import DistanceChange, DriftJudgement
from plink.measure.probing.request import ProbeRequest
from plink.measure.probing.run import ProbeResult
from plink.probes.options import SshOptions
from plink.verbs import probe as probing
from support.lab import Lab, lab_cluster

HOSTS = ["n01", "n02", "n03"]


class Probed:
    """Stands in for a run: keeps what was asked for, and yields what a test wants."""

    def __init__(self, **changes: Any) -> None:
        self.requests: list[ProbeRequest] = []
        self.changes = changes
        self.interrupts_before = self.interrupts_after = False

    def __call__(
        self,
        request: ProbeRequest,
        progress: Steps,
        on_result: Callable[[ProbeResult], None],
        policy: object,
    ) -> ProbeResult:
        self.requests.append(request)
        progress.stage("probing", 2)
        progress.step()
        progress.say("a remark")
        if self.interrupts_before:
            raise KeyboardInterrupt
        cluster = rack_cluster(1, len(request.hosts))
        assert cluster.rtt is not None
        rtt = replace(cluster.rtt, failures=self.changes.pop("failures", ()))
        found = ProbeResult(
            cluster=Cluster(
                cluster.hosts, rtt=rtt, unreachable=self.changes.pop("unreachable", ())
            ),
            measurement=rtt,
            how="",
            asked=6,
            measured=6,
            sample=None,
            warnings=(),
            interrupted=False,
        )
        result = replace(found, **self.changes)
        on_result(result)
        if self.interrupts_after:
            raise KeyboardInterrupt
        return result


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> Probed:
    run = Probed()
    monkeypatch.setattr(probing.run, "probe", run)
    return run


def test_hosts_are_lines_of_a_host_list(probed: Probed) -> None:
    cluster = plink.probe(["user@n01:2222", "n[02-03] slots=4  # half"])
    assert isinstance(cluster, plink.MeasuredCluster)
    assert cluster.names == HOSTS
    (request,) = probed.requests
    assert [host.name for host in request.hosts] == HOSTS
    assert [host.slots for host in request.hosts] == [1, 4, 4]
    assert (request.hosts[0].user, request.hosts[0].port) == ("user", 2222)
    assert request.made_from is None
    assert request.tool == "echo"
    assert request.way == SshOptions()


def test_a_path_is_a_host_list(probed: Probed, tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("n[01-03]\n")
    plink.probe(tmp_path / "hosts.txt")
    plink.probe(str(tmp_path / "hosts.txt"))
    assert [len(request.hosts) for request in probed.requests] == [3, 3]
    assert (probed.requests[0].made_from or "").startswith("sha256:")


def test_options_of_the_tool_are_its_own(probed: Probed) -> None:
    plink.probe(HOSTS, tool="fping", count=20, percentile=50, timeout_s=5)
    plink.probe(HOSTS, tool="uplinks", groups={"r1": ["n01"], "r2": ["n02", "n03"]})
    plink.probe(HOSTS, tool="uplinks", groups=[Group("r1", ["n01"]), Group("r2", ["n02"])])
    first, second, third = (vars(request.options) for request in probed.requests)
    assert (first["count"], first["passes"], first["percentile"]) == (20, 2, 50)
    assert second["groups"] == [Group("r1", ["n01"]), Group("r2", ["n02", "n03"])]
    assert third["groups"] == [Group("r1", ["n01"]), Group("r2", ["n02"])]


def test_rounds_and_networks(probed: Probed) -> None:
    plink.probe(HOSTS, rounds="auto", seed=7, network="10.0.0.1/16")
    (request,) = probed.requests
    assert (request.rounds, request.seed, str(request.network)) == (0, 7, "10.0.0.0/16")


def test_a_cluster_is_measured_on(probed: Probed) -> None:
    cluster = plink.MeasuredCluster.from_matrix(
        HOSTS, np.full((3, 3), 20.0), groups={"r1": ["n01"], "r2": ["n02", "n03"]}
    )
    plink.probe(cluster, tool="uplinks")
    (request,) = probed.requests
    assert request.earlier is cluster
    assert [host.name for host in request.hosts] == HOSTS
    assert [group.name for group in vars(request.options)["groups"]] == ["r1", "r2"]


def test_progress_is_told(probed: Probed) -> None:
    told: list[str] = []
    plink.probe(HOSTS, progress=lambda each: told.append(str(each)))
    assert told == ["probing: 0 of 2", "probing: 1 of 2", "a remark"]


def test_what_is_missing_is_warned_of(probed: Probed) -> None:
    pairs = [Failure("n01", "lost", f"n{number:02}") for number in range(2, 10)]
    probed.changes = {
        "unreachable": [Unreachable("n09", "no route to host")],
        "failures": pairs,
        "warnings": ["1 directed pair was disturbed"],
    }
    with pytest.warns(plink.PlinkWarning) as said:
        cluster = plink.probe(HOSTS)
    assert [str(each.message) for each in said] == [
        "n09: no route to host",
        *(f"n01 to n{number:02}: lost" for number in range(2, 5)),
        "5 more directed pairs could not be measured",
        "1 directed pair was disturbed",
    ]
    assert {each.filename for each in said} == {__file__}
    assert cluster.notes[0] == "n09 was unreachable"


def test_nothing_measured_is_an_error(probed: Probed) -> None:
    probed.changes = {"measured": 0, "failures": [Failure("n01", "lost", "n02")]}
    with pytest.raises(plink.PlinkError, match="no pair of hosts could be measured") as caught:
        plink.probe(HOSTS)
    assert caught.value.hint == "n01 to n02: lost"


def test_an_interrupt_has_what_was_measured(probed: Probed) -> None:
    probed.changes = {"interrupted": True}
    with pytest.raises(plink.ProbeInterrupted) as caught:
        plink.probe(HOSTS)
    assert isinstance(caught.value.cluster, plink.MeasuredCluster)
    assert caught.value.cluster.names == HOSTS
    assert isinstance(caught.value, KeyboardInterrupt)


def test_an_interrupt_while_connections_close_has_it_too(probed: Probed) -> None:
    probed.interrupts_after = True
    with pytest.raises(plink.ProbeInterrupted) as caught:
        plink.probe(HOSTS)
    assert caught.value.cluster.names == HOSTS


def test_an_interrupt_before_anything_was_measured_is_a_plain_one(probed: Probed) -> None:
    probed.interrupts_before = True
    with pytest.raises(KeyboardInterrupt) as caught:
        plink.probe(HOSTS)
    assert not isinstance(caught.value, plink.ProbeInterrupted)


CALLS: list[tuple[Any, dict[str, Any], str]] = [
    (HOSTS, {"tool": "ehco"}, "tool is 'ehco', expected dpdk, echo, fping, iperf3, trace or uplin"),
    (HOSTS, {"streams": 3}, "streams applies to the tool iperf3 or uplinks, not echo"),
    (HOSTS, {"count": 0}, "count is 0, expected a whole number from 1 to"),
    (HOSTS, {"percentile": 101}, "percentile is 101, expected a number from 0 to 100"),
    (HOSTS, {"rounds": 1}, "rounds is 1, expected a whole number from 2"),
    (HOSTS, {"network": "ten"}, "network is 'ten', expected a network such as 10.0.0.0/16"),
    (HOSTS, {"tool": "iperf3", "direction": "up"}, "direction is 'up', expected both or each"),
    (HOSTS, {"tool": "uplinks"}, "groups"),
    (HOSTS, {"ssh": SshOptions(config_file="/nowhere")}, "/nowhere"),
    ([1, 2], {}, "hosts must be a list of host names"),
    (["n01", "n02", "n01"], {}, "n01"),
    (["n[01-"], {}, "hosts:1: "),
    ([], {}, "hosts"),
    ("/nowhere/hosts.txt", {}, "/nowhere/hosts.txt: No such file or directory"),
]


@pytest.mark.parametrize(("hosts", "options", "message"), CALLS)
def test_wrong_arguments_are_one_sentence_without_flags(
    hosts: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(plink.WrongUseError) as caught:
        plink.probe(hosts, **options)
    assert message in str(caught.value)
    assert "--" not in f"{caught.value} {caught.value.hint}"


def test_a_matrix_cannot_be_measured_on_with_another_tool() -> None:
    with pytest.raises(plink.WrongUseError, match="was measured with import, not echo"):
        plink.probe(rack_cluster())


def test_hosts_that_cannot_be_reached_are_named() -> None:
    with pytest.raises(plink.PlinkError, match="fewer than two hosts can be reached: "):
        plink.probe(["root@127.0.0.1:1", "root@localhost:1"])


@pytest.fixture(scope="module")
def lab() -> Any:
    with lab_cluster(racks=2, hosts=2) as lab:
        yield lab


@pytest.mark.lab
@pytest.mark.filterwarnings("ignore:.*disturbed by other work:plink.PlinkWarning")
def test_a_host_that_is_missing_costs_its_own_pairs(lab: Lab, tmp_path: Path) -> None:
    ssh = plink.SshOptions(config_file=str(lab.ssh_config))
    told: list[plink.Progress] = []
    with pytest.warns(plink.PlinkWarning, match=r"127\.0\.0\.1: "):
        cluster = plink.probe(
            [*lab.names, "127.0.0.1:1"], count=20, passes=1, ssh=ssh, progress=told.append
        )
    assert cluster.names == lab.names
    assert [host.source for host in cluster.unreachable] == ["127.0.0.1"]
    assert cluster.rtt_us is not None
    assert (cluster.rtt_us[~np.eye(4, dtype=bool)] > 1.0).all()
    assert {each.stage for each in told} >= {"connecting", "probing"}
    with pytest.warns(plink.PlinkWarning, match=r"127\.0\.0\.1 was unreachable and gets no rank"):
        order = plink.order(cluster, time_limit_s=0.2)
    cluster.save(tmp_path / "cluster.json")
    assert is_made_from(order, plink.MeasuredCluster.read(tmp_path / "cluster.json"))
    assert sorted(order.names) == sorted(rack_names(2, 2))
    verdict = plink.check(cluster, seed=1, count=20, ssh=ssh)
    assert verdict.is_whole
    assert verdict.hosts == 4
    assert verdict.judgement.pairs == 6
    assert repr(verdict).startswith("<plink.Verdict: ")
    with pytest.warns(plink.PlinkWarning, match=r"127\.0\.0\.1: "):
        found = plink.diagnose(cluster, live=True, transfers_s=0.0, ssh=ssh)
    assert [text.partition(":")[0] for text in found.not_asked] == ["127.0.0.1"]
    assert any("settings, processors and clocks (4" in clause for clause in found.looked_at)


def test_a_verdict_names_the_hosts_that_changed() -> None:
    judgement = DriftJudgement(
        changed=[(0, 1)],
        unchanged=[(1, 2)],
        common_factor=1.0,
        changes=[DistanceChange([0], 2, 1, 0, 1.6, None)],
        noise_factor=1.1,
    )
    verdict = plink.Verdict(3, judgement, {}, {}, [], 1.0, names=HOSTS)
    assert verdict.changed == [["n01"]]
    assert repr(verdict) == (
        "<plink.Verdict: no longer describes the network, 1 of 2 pairs changed; n01>"
    )


def test_what_plink_did_not_measure_cannot_be_checked() -> None:
    with pytest.raises(plink.WrongUseError, match="plink did not measure its round-trip times"):
        plink.check(rack_cluster())
