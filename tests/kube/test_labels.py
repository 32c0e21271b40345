"""`plink kube labels`, against a stand-in for Kubernetes' API server."""

from __future__ import annotations

import http.client
import itertools
import json
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from engine import certificates
from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.deploy.kubernetes.access import reach
from plink.deploy.kubernetes.api_server import ANNOTATION, Access, ApiServer
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster, Unreachable
from plink.formats.groups import Grouping, Partition
from plink.formats.hosts import Group, Host
from support.kubernetes import require_kubectl, write_config
from support.kubernetes_nodes import TOKEN, NodeServer, node_server
from support.plink_command import Done, plink_here

PREFIX = "network.topology.nvidia.com/"
KEYS = [word for tier in ("leaf", "spine", "core") for word in ("--key", f"{PREFIX}{tier}")]

LEAVES = [["n1", "n2"], ["n3", "n4"], ["n5", "n6"]]
SPINES = [["n1", "n2", "n3", "n4"], ["n5", "n6"]]


def grouped(
    leaves: list[list[str]],
    spines: list[list[str]] | None = None,
    alone: Sequence[str] = (),
    unmeasured: Sequence[str] = (),
) -> Cluster:
    """A cluster in which plink found these groups."""
    names = [*itertools.chain(*leaves), *alone, *unmeasured]
    hosts = [Host(name, f"10.0.0.{name[1:]}") for name in names]
    groups = [Group(f"g{number}", group) for number, group in enumerate(leaves, 1)]
    levels = [leaves] if spines is None else [spines, leaves]
    grouping = Grouping(
        "levels", "raw", levels=list(map(Partition, levels)), alone=alone, unmeasured=unmeasured
    )
    return Cluster(hosts, groups=groups, grouping=grouping)


@pytest.fixture
def server() -> Iterator[NodeServer]:
    with node_server() as server:
        for number in range(1, 7):
            server.add(f"n{number}", f"10.0.0.{number}")
        yield server


@pytest.fixture
def labelled(server: NodeServer, tmp_path: Path) -> Labelled:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    return Labelled(server, tmp_path)


class Labelled:
    """Runs the verb."""

    def __init__(self, server: NodeServer, folder: Path) -> None:
        self.server = server
        self.folder = folder

    def __call__(self, cluster: Cluster | None, *options: str) -> Done:
        file = self.folder / "c.json"
        if cluster is not None:
            cluster_file.write_cluster(str(file), cluster)
        words = [] if cluster is None else [file]
        if cluster is not None and "--key" not in options:
            options = (*options, *KEYS)
        token = ("--token-file", self.folder / "token")
        return plink_here("kube", "labels", *words, "--api", self.server.url, *token, *options)

    @property
    def leaves(self) -> dict[str, str | None]:
        return {name: each.get("leaf") for name, each in self.server.labels(PREFIX).items()}


def test_tiers_become_labels_and_stay(labelled: Labelled) -> None:
    server = labelled.server
    done = labelled(grouped(LEAVES, SPINES))
    assert done.code == 0, done.stderr
    assert done.stdout.splitlines()[::3] == [
        "node  leaf    spine",
        "n3    leaf-2  spine-1  changed",
        "n6    leaf-3  spine-2  changed",
    ]
    assert done.stderr == "6 nodes with labels, 6 changed\n"
    expected = {
        "n1": {"leaf": "leaf-1", "spine": "spine-1"},
        "n2": {"leaf": "leaf-1", "spine": "spine-1"},
        "n3": {"leaf": "leaf-2", "spine": "spine-1"},
        "n4": {"leaf": "leaf-2", "spine": "spine-1"},
        "n5": {"leaf": "leaf-3", "spine": "spine-2"},
        "n6": {"leaf": "leaf-3", "spine": "spine-2"},
    }
    assert server.labels(PREFIX) == expected
    assert server.nodes["n1"]["metadata"]["labels"]["kubernetes.io/hostname"] == "n1"

    # The same again, in another sequence: nothing is written.
    server.patches.clear()
    done = labelled(grouped(LEAVES[::-1], SPINES[::-1]))
    assert (done.code, done.stderr) == (0, "6 nodes with labels, 0 changed\n")
    assert not server.patches


def test_values_stay_where_hosts_move_come_and_leave(labelled: Labelled) -> None:
    server = labelled.server
    labelled(grouped(LEAVES))
    server.add("n7")
    # n4 has moved, n6 has left, n7 is new, and the sequence is another.
    done = labelled(grouped([["n7", "n5", "n4"], ["n3"], ["n2", "n1"]]))
    assert done.code == 0, done.stderr
    assert "cleared: n6" in done.stderr
    assert labelled.leaves == {
        "n1": "leaf-1",
        "n2": "leaf-1",
        "n3": "leaf-2",
        "n4": "leaf-3",
        "n5": "leaf-3",
        "n6": None,
        "n7": "leaf-3",
    }
    assert {name for name, _ in server.patches[6:]} == {"n4", "n6", "n7"}
    assert ANNOTATION not in server.nodes["n6"]["metadata"]["annotations"]


def test_hosts_that_were_not_measured_keep_their_labels(labelled: Labelled) -> None:
    labelled(grouped(LEAVES))
    lost = replace(
        grouped([["n1", "n2"], ["n3"]], unmeasured=["n4"]),
        unreachable=[Unreachable("n5", "is off"), Unreachable("never", "is off")],
    )
    done = labelled(lost)
    assert done.code == 0, done.stderr
    assert "2 not measured and as before: n4, n5" in done.stderr
    leaves = labelled.leaves
    assert (leaves["n4"], leaves["n5"], leaves["n6"]) == ("leaf-2", "leaf-3", None)


def test_a_host_that_fits_nowhere_is_a_domain_by_itself(labelled: Labelled) -> None:
    done = labelled(grouped([["n1", "n2"], ["n3", "n4"]], alone=["n5", "n6"]))
    assert done.code == 0, done.stderr
    assert len(set(labelled.leaves.values())) == 4


def test_what_others_wrote_stays(labelled: Labelled) -> None:
    server = labelled.server
    server.merge("n1", {"metadata": {"labels": {f"{PREFIX}leaf": "leaf-1"}}})
    server.merge("n3", {"metadata": {"labels": {f"{PREFIX}leaf": "switch-9", "rack": "r9"}}})
    done = labelled(grouped(LEAVES))
    assert done.code == 3
    assert f"n3: has labels that plink did not write: {PREFIX}leaf" in done.stderr
    assert "--overwrite" in done.stderr
    # A new value is none that somebody else uses.
    assert labelled.leaves == {
        "n1": "leaf-1",
        "n2": "leaf-2",
        "n3": "switch-9",
        "n4": "leaf-3",
        "n5": "leaf-4",
        "n6": "leaf-4",
    }
    done = labelled(grouped(LEAVES), "--overwrite")
    assert done.code == 0, done.stderr
    assert labelled.leaves["n1"] == labelled.leaves["n2"]
    assert labelled.leaves["n3"] == labelled.leaves["n4"]

    # What somebody has changed since is no longer plink's.
    server.merge("n5", {"metadata": {"labels": {f"{PREFIX}leaf": "by-hand"}}})
    done = labelled(None, "--remove")
    assert done.code == 0, done.stderr
    assert labelled.leaves == {f"n{n}": "by-hand" if n == 5 else None for n in range(1, 7)}
    assert server.nodes["n3"]["metadata"]["labels"]["rack"] == "r9"
    assert not any(ANNOTATION in node["metadata"]["annotations"] for node in server.nodes.values())


def test_other_keys_replace_the_first_ones(labelled: Labelled) -> None:
    server = labelled.server
    labelled(grouped(LEAVES, SPINES))
    key = "fabric.topograph.run/tier-{tier}"
    done = labelled(grouped(LEAVES, SPINES), "--key", key, "--json")
    assert done.code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["keys"] == ["fabric.topograph.run/tier-0", "fabric.topograph.run/tier-1"]
    assert found["changed"] == [f"n{number}" for number in range(1, 7)]
    assert server.labels(PREFIX)["n1"] == {}
    assert server.labels("fabric.topograph.run/")["n5"] == {
        "tier-0": "tier-0-3",
        "tier-1": "tier-1-2",
    }
    done = labelled(grouped(LEAVES, SPINES), "--key", "rack")
    assert "2 network tiers were found, and the widest 1 have no label" in done.stderr
    assert server.nodes["n6"]["metadata"]["labels"]["rack"] == "rack-3"


def test_given_groups_keep_their_names(labelled: Labelled) -> None:
    groups = [Group("r1", ["n1", "n2", "n3"]), Group("row/2", ["n4", "n5", "n6"])]
    done = labelled(replace(grouped(LEAVES), groups=groups, grouping=None))
    assert done.code == 0, done.stderr
    # A slash cannot be in a value.
    assert labelled.leaves == dict.fromkeys(["n1", "n2", "n3"], "r1") | dict.fromkeys(
        ["n4", "n5", "n6"], "leaf-1"
    )


def test_a_dry_run_changes_nothing(labelled: Labelled) -> None:
    done = labelled(grouped(LEAVES), "--dry-run", "--json")
    assert done.code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["dry_run"]
    assert len(found["changed"]) == 6
    assert found["labels"]["n6"] == {f"{PREFIX}leaf": "leaf-3"}
    assert not labelled.server.patches


def test_hosts_are_found_by_address_and_the_rest_is_named(labelled: Labelled) -> None:
    server = labelled.server
    server.nodes = {}
    for number in range(1, 5):
        server.add(f"ip-{number}.internal", f"10.0.0.{number}")
    done = labelled(grouped(LEAVES))
    assert done.code == 3
    assert "2 hosts of the file are no Kubernetes nodes: n5, n6" in done.stderr
    assert labelled.leaves["ip-4.internal"] == "leaf-2"


def test_many_nodes_come_in_pages(labelled: Labelled) -> None:
    server = labelled.server
    for number in range(7, 1207):
        server.add(f"n{number}")
    done = labelled(grouped(LEAVES))
    assert done.code == 0, done.stderr
    lists = [path for method, path in server.asked if method == "GET"]
    assert len(lists) == 3
    assert len(server.patches) == 6


def test_it_asks_again_where_that_helps(labelled: Labelled) -> None:
    server = labelled.server
    server.faults = [(500, None), (429, "0"), None, (503, "0"), None, (429, "1")]

    def changed(name: str) -> None:
        server.merge(name, {"metadata": {"labels": {"other": "changed"}}})

    server.before_patch = [changed, changed]
    done = labelled(grouped(LEAVES))
    assert done.code == 0, done.stderr
    assert [name for name, _ in server.patches] == [f"n{number}" for number in range(1, 7)]
    assert server.nodes["n1"]["metadata"]["labels"]["other"] == "changed"
    assert labelled.leaves["n1"] == "leaf-1"


def test_a_node_that_goes_meanwhile_is_named(labelled: Labelled) -> None:
    server = labelled.server
    server.before_patch = [server.nodes.pop]
    done = labelled(grouped(LEAVES))
    assert done.code == 3
    assert "1 node disappeared meanwhile: n1" in done.stderr
    assert labelled.leaves["n6"] == "leaf-3"


def test_refusals_are_told(labelled: Labelled) -> None:
    server = labelled.server
    server.verbs = frozenset({"get", "list"})
    done = labelled(grouped(LEAVES))
    assert done.code == 1
    assert "refuses the request: nodes is forbidden" in done.stderr
    assert "hint: the account needs get, list and patch of nodes" in done.stderr
    server.token = "another"
    done = labelled(grouped(LEAVES))
    assert done.code == 1
    assert "does not accept the token (Unauthorized)" in done.stderr
    server.faults = [(503, "30")]
    done = labelled(grouped(LEAVES), "--timeout", "5")
    assert (done.code, "answers with status 503 (try again later)" in done.stderr) == (1, True)
    done = labelled(grouped(LEAVES), "--api", "http://127.0.0.1:1", "--timeout", "0")
    assert "the API server at 127.0.0.1:1 does not answer" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--key", "a/b/c"], "'a/b/c' is not a valid label key"),
        (
            ["--key", "node.kubernetes.io/rack"],
            "Kubernetes reserves label keys with the prefix node.kubernetes.io",
        ),
        (["--key", "rack", "--key", "rack"], "--key names the same label twice"),
        (["--api", "ftp://h"], "'ftp://h' is not the address of an API server"),
        (["--api", "http://10.0.0.1"], "a token would be sent unencrypted"),
        (["--remove"], "to label nodes from, or --remove"),
        (["--ca-file", "/nowhere", "--api", "https://h"], "/nowhere: No such file"),
    ],
)
def test_wrong_uses_are_told(labelled: Labelled, options: list[str], said: str) -> None:
    done = labelled(grouped(LEAVES), *options)
    assert done.code == 2, done.stderr
    assert said in done.stderr
    assert not labelled.server.patches


def test_without_groups_nothing_changes(labelled: Labelled) -> None:
    labelled(grouped(LEAVES))
    labelled.server.patches.clear()
    flat = replace(grouped(LEAVES), groups=[], grouping=Grouping("levels", "raw"))
    done = labelled(flat)
    assert done.code == 0
    assert "nodes keep their labels; plink kube labels --remove" in done.stderr
    done = labelled(replace(flat, grouping=None))
    assert done.code == 2
    assert "has no groups of hosts\nhint: plink group" in done.stderr
    crossed = [["n1", "n3"], ["n2", "n4", "n5", "n6"]]
    done = labelled(grouped(LEAVES, crossed))
    assert done.code == 2
    assert "a group of one level overlaps two groups of the next" in done.stderr
    assert not labelled.server.patches


@pytest.mark.needs("kubernetes")
def test_outside_of_a_pod_kubectl_leads_to_the_api_server(
    server: NodeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_kubectl()
    write_config(tmp_path / "kubeconfig", {"server": server.url}, {"token": TOKEN})
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    # kubectl sends no token in the clear.
    server.token = None
    file = tmp_path / "c.json"
    cluster_file.write_cluster(str(file), grouped(LEAVES))
    done = plink_here("kube", "labels", file)
    assert done.code == 0, done.stderr
    assert server.labels("fabric.topograph.run/")["n6"] == {"tier-0": "tier-0-3"}

    monkeypatch.setenv("PATH", str(tmp_path))
    done = plink_here("kube", "labels", file)
    assert done.code == 1
    assert "kubectl cannot be started (No such file or directory)\nhint: outside of" in done.stderr


def test_in_a_pod_its_account_leads_there(tmp_path: Path) -> None:
    keys = Path(certificates.job(tmp_path / "job"), "host")
    account = tmp_path / "account"
    account.mkdir()
    (account / "token").write_text(TOKEN)
    (account / "ca.crt").write_text((keys / "authority.pem").read_text())
    both = tmp_path / "both.pem"
    both.write_text((keys / "certificate.pem").read_text() + (keys / "key.pem").read_text())
    with node_server(both) as server:
        server.add("n1")
        port = server.url.rpartition(":")[2]
        pod = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}
        with reach(environment=pod, account=account) as access:
            api = ApiServer(access, 5.0)
            assert [node.name for node in api.nodes()] == ["n1"]
            # Kubernetes renews it now and then.
            server.token = "another-token"
            (account / "token").write_text(server.token)
            assert api.node("n1").name == "n1"
        (account / "ca.crt").write_text(
            Path(certificates.job(tmp_path / "other"), "host", "authority.pem").read_text()
        )
        with reach(environment=pod, account=account) as access:
            stranger = ApiServer(access, 5.0)
            with pytest.raises(PlinkError, match="its certificate is not trusted"):
                stranger.nodes()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"<html>",
        b'{"items": [1]}',
        b'{"items": [], "metadata": {"continue": "1"}}',
    ],
)
def test_nonsense_is_told(content: bytes, tmp_path: Path) -> None:
    """What something else answers that is no API server."""

    class Raw(http.client.HTTPConnection):
        def connect(self) -> None:
            ours, theirs = socket.socketpair()
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n\r\n".encode()
            theirs.sendall(head + content)
            theirs.shutdown(socket.SHUT_WR)
            self.sock, self.theirs = ours, theirs

        def close(self) -> None:
            super().close()
            self.theirs.close()

    api = ApiServer(Access("it", lambda _: Raw("h")), 0.0)
    with pytest.raises(PlinkError, match="it does not answer with"):
        api.nodes()
