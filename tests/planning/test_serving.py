"""From a cluster with servers to a plan, beside the plans that need none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from planning.clusters import rack_cluster
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats import plan as plan_file
from plink.formats.cluster import Cluster
from plink.formats.plan import SERVER, Port
from plink.formats.structs import encode
from plink.optimize.plans.planning import Planned, find_plan
from plink.optimize.plans.request import PlanRequest
from plink.optimize.plans.servers import parse_servers
from plink.plans.check import check, check_ports

S = 20_000_000
LINK_S = S / 50e6


def planned(cluster: Cluster, *servers: str, kind: str = "auto", **options: object) -> Planned:
    request = PlanRequest(kind=kind, size=S, servers=servers, **options)  # type: ignore[arg-type]
    found = find_plan(cluster, request)
    plan = found.plan
    check(plan.forest, plan.is_server)
    if plan.route_ports is not None:
        check_ports(plan.forest, plan.route_ports, [len(rank.ports) for rank in plan.ranks])
    written = encode(plan)
    assert plan_file.decode_plan(written, "p", with_servers=True).kind == plan.kind
    for each in found.candidates:
        assert each.time_s >= 0.999 * (plan.bound_s or 0.0) or each.kind in ("2lha",)
    return found


def times(found: Planned) -> dict[str, float]:
    return {each.kind: each.time_s / LINK_S for each in found.candidates}


def box(ports: int, rate: str = "@400mbit") -> Planned:
    """Eight workers with 400 Mbit/s and a server in one rack."""
    return planned(rack_cluster([9], uplink_gbit_s=9.0), f"n00:{ports}{rate}")


@pytest.mark.parametrize(("ports", "chosen"), [(4, "flat"), (5, "ncc"), (8, "ncc")])
def test_auto_takes_the_server_where_its_ports_are_enough(ports: int, chosen: str) -> None:
    found = box(ports)
    assert times(found)["ncc"] == pytest.approx(8 / ports, rel=0.04)
    assert found.plan.kind == chosen
    assert found.reason.startswith(f"{chosen}: predicted to ")
    if chosen == "flat":
        # Nobody needs the server then, and the engine runs the plan.
        assert not found.plan.has_servers
        assert encode(found.plan)["version"] == 1


def test_the_row_on_ports_is_always_there() -> None:
    for ports in (1, 8):
        verdict = box(ports).ports
        assert verdict is not None
        assert verdict.workers == 8
        assert verdict.ports == pytest.approx(ports)
    assert "0.875" in verdict.sentence


def test_ports_of_another_rate_count_as_such() -> None:
    found = box(4, "@800mbit")
    assert found.ports is not None
    assert found.ports.ports == pytest.approx(8.0)
    assert times(found)["ncc"] == pytest.approx(1.0, rel=0.04)


def test_servers_come_after_workers_with_their_ports() -> None:
    cluster = rack_cluster([9], uplink_gbit_s=9.0)
    found = planned(cluster, "n03=10.0.0.4+10.0.9.4@400mbit", kind="ps")
    ranks = found.plan.ranks
    assert [rank.host for rank in ranks] == [*(f"n0{i}" for i in (0, 1, 2, 4, 5, 6, 7, 8)), "n03"]
    assert ranks[-1].role == SERVER
    assert ranks[-1].ports == (Port("10.0.0.4", 1.0), Port("10.0.9.4", 1.0))
    assert found.plan.contributors == 8
    assert found.plan.route_ports is not None
    assert found.plan.route_ports[:, -1].tolist() == [0, 1]
    assert found.reason.startswith("ncc: as asked for")
    assert not any("addresses" in text for text in found.plan.assumptions)


def test_bytes_of_ports_follow_their_rates() -> None:
    cluster = rack_cluster([10], uplink_gbit_s=9.0)
    found = planned(cluster, "n00:2@400mbit", "n01:1@800mbit", kind="ps")
    assert found.plan.kind == "ncs"
    by_port = {(port.host, port.port): port for port in found.chosen.ports}
    assert list(by_port) == [("n00", 0), ("n00", 1), ("n01", 0)]
    received = [port.received_bytes for port in by_port.values()]
    assert received == pytest.approx([8 * S / 4, 8 * S / 4, 8 * S / 2])
    assert [port.sent_bytes for port in by_port.values()] == pytest.approx(received)
    weights = [[port.weight for port in rank.ports] for rank in found.plan.ranks[-2:]]
    # The only port of n01, at its own address, says no more than the rank does.
    assert weights == [[0.5, 0.5], []]


def servers_of_racks(cluster: Cluster, ports: int) -> list[str]:
    return [f"{group.hosts[0]}:{ports}@400mbit" for group in cluster.groups]


def test_servers_of_racks_send_little_across() -> None:
    cluster = rack_cluster([5, 5], uplink_gbit_s=0.2)
    found = planned(cluster, *servers_of_racks(cluster, 4), kind="hub")
    assert found.plan.kind == "hub-star"
    at = times(found)
    assert at["ncs"] / at["hub-star"] == pytest.approx(4.0, rel=0.05)
    assert at["2lha"] / at["hub-star"] == pytest.approx(1.0, rel=0.05)
    by_kind = {each.kind: each.measures.cross_group_bytes for each in found.candidates}
    assert by_kind["hub-star"] == pytest.approx(2 * S)
    assert by_kind["ncs"] == pytest.approx(8 * S)
    assert [len(group.hosts) for group in found.plan.groups] == [5, 5]


def test_quick_uplinks_leave_what_ports_carry() -> None:
    cluster = rack_cluster([5, 5], uplink_gbit_s=1.6)
    at = times(planned(cluster, *servers_of_racks(cluster, 4)))
    assert at["2lha"] == pytest.approx(1.75, rel=0.02)
    # Four ports for four workers have to carry what goes between the racks, too.
    assert at["hub-star"] == pytest.approx(1.25, rel=0.04)
    at = times(planned(cluster, *servers_of_racks(cluster, 5)))
    assert at["hub-star"] == pytest.approx(1.0, rel=0.04)


@pytest.mark.parametrize(
    ("sizes", "servers", "said"),
    [
        ([9], ["n00"], "all workers are in one group"),
        ([4, 4], ["r0"], "not every group of workers has a server"),
    ],
)
def test_there_is_no_hub_without_a_server_in_every_rack(
    sizes: list[int], servers: Sequence[str], said: str
) -> None:
    cluster = rack_cluster(sizes, uplink_gbit_s=1.0)
    first = {group.name: group.hosts[0] for group in cluster.groups}
    named = [first.get(each, each) for each in servers]
    found = planned(cluster, *named)
    assert {each.kind: each.reason for each in found.refused}["hub-ring"] == said
    with pytest.raises(WrongUseError, match=f"there is no plan of kind hub: {said}"):
        planned(cluster, *named, kind="hub")


def test_several_ranks_of_a_host_send_one_sum() -> None:
    cluster = rack_cluster([5], uplink_gbit_s=9.0, slots=3)
    found = planned(cluster, "n02:4@400mbit", kind="ps")
    assert len(found.plan.ranks) == 4 * 3 + 1
    assert found.plan.contributors == 12
    assert times(found)["ncc"] == pytest.approx(1.0, rel=0.05)
    received = [port.received_bytes for port in found.chosen.ports]
    assert received == pytest.approx([S] * 4)


def test_a_plan_between_workers_can_be_asked_for() -> None:
    found = planned(rack_cluster([9], uplink_gbit_s=9.0), "n00:8@400mbit", kind="ring")
    assert found.plan.kind == "ring"
    assert "auto would have chosen ncc" in found.reason


def test_groups_are_found_where_the_file_has_none() -> None:
    cluster = rack_cluster([5, 5], has_groups=False)
    truth = rack_cluster([5, 5])
    servers = [f"{group.hosts[0]}:4" for group in truth.groups]
    found = planned(cluster, *servers, kind="hub")
    assert found.plan.kind.startswith("hub-")
    assert any("assumed to carry what its link does" in text for text in found.plan.assumptions)
    assert any("addresses of the 4 ports" in text for text in found.plan.assumptions)


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        (["box"], "the server 'box': 'box' is not a host of"),
        (["n00:0"], "0 ports, expected 1 to 256"),
        (["n00:257"], "257 ports, expected 1 to 256"),
        (["n00:99999"], "'n00:99999' is not a host"),
        (["n00="], "'' is not an IP address"),
        (["n00=a b"], "'a b' is not an IP address"),
        (["n00@fast"], "the server 'n00@fast': 'fast' is not a rate"),
        (["n00", "n00:2"], "the server n00 is named twice"),
        (["n00,n01,n02"], "every host is a server"),
        ([""], "'' is not a host"),
    ],
)
def test_what_is_no_server_is_refused(servers: Sequence[str], said: str) -> None:
    with pytest.raises(WrongUseError, match=said):
        planned(rack_cluster([3], uplink_gbit_s=1.0), *servers)


def test_hosts_may_be_called_by_addresses_with_colons() -> None:
    cluster = rack_cluster([3])
    hosts = [replace(cluster.hosts[0], name="fd00::1"), *cluster.hosts[1:]]
    renamed = replace(cluster, hosts=hosts, groups=(), uplinks=None)
    assert len(parse_servers(["fd00::1"], renamed)[0].addresses) == 1
    assert len(parse_servers(["fd00::1:4"], renamed)[0].addresses) == 4


def test_other_collectives_have_no_servers() -> None:
    cluster = rack_cluster([3])
    with pytest.raises(WrongUseError, match="can carry all-reduce only"):
        planned(cluster, "n00", collective="all-gather")


def test_too_many_ranks_are_refused() -> None:
    with pytest.raises(WrongUseError, match="ranks are too many"):
        planned(rack_cluster([3]), "n00", ranks_per_host=4096)


def test_a_bound_is_of_links_and_ports() -> None:
    assert box(8).plan.bound_s == pytest.approx(LINK_S)
    # With few ports, what all links together carry, or an all-reduce needs, is more.
    assert box(1).plan.bound_s == pytest.approx(14 / 9 * LINK_S)
    assert np.isfinite(box(1).plan.bound_s or np.inf)
