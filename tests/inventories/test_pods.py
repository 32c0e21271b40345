"""Pods as host lists: the real kubectl asks a stand-in for a cluster's API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.measure.listed import HostList, read_hosts
from plink.probes.errors import HostListError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.inventories.pods import parse_pods, parse_where
from plink.probes.options import SshOptions, ViaOptions
from support.kubernetes import ApiServer, Object, api_server, pod, require_kubectl

NAMESPACE = "training"


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    require_kubectl()
    with api_server(tmp_path, NAMESPACE) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.config))
        # Where it keeps what it learnt of a server.
        monkeypatch.setenv("HOME", str(tmp_path))
        yield server


def template(found: HostList) -> str:
    way = found.way(SshOptions())
    assert isinstance(way, ViaOptions)
    return way.template


def of(name: str, address: str, **more: object) -> Object:
    labels = {"app": "gpt", "app.kubernetes.io/name": "trainer"}
    return pod(name, address, NAMESPACE, labels=labels, **more)  # type: ignore[arg-type]


@pytest.mark.needs("kubernetes")
@pytest.mark.parametrize(
    "where",
    [
        "training/app=gpt",
        "training/app in (gpt, llama),!canary",
        "app.kubernetes.io/name=trainer",
        "/app=gpt",
    ],
)
def test_pods_that_are_ready_in_the_order_of_their_numbers(where: str, api: ApiServer) -> None:
    api.objects["pods"] += [
        of("gpt-10", "10.0.0.10", gpus=8),
        of("gpt-2", "10.0.0.2", gpus=8),
        of("gpt-1", "10.0.0.1", is_ready=False),
        of("gpt-0", "10.0.0.9") | {"status": {"phase": "Succeeded", "podIP": "10.0.0.9"}},
        pod("gpt-3", "10.0.0.3", "elsewhere", labels={"app": "gpt"}),
        pod("other", "10.0.0.4", NAMESPACE, labels={"app": "bert"}),
    ]
    found = read_hosts(f"k8s:{where}")
    assert found.hosts == [
        ListedHost("gpt-2", slots=8, ssh_address="10.0.0.2", place=f"k8s:{where}"),
        ListedHost("gpt-10", slots=8, ssh_address="10.0.0.10", place=f"k8s:{where}"),
    ]
    assert template(found) == "kubectl exec -i -n training {host} -c main --"


@pytest.mark.needs("kubernetes")
def test_all_pods_of_a_namespace(api: ApiServer) -> None:
    api.objects["pods"] += [of("b", "10.0.0.2"), of("a", "10.0.0.1")]
    assert [host.name for host in read_hosts("k8s:training/").hosts] == ["a", "b"]


@pytest.mark.needs("kubernetes")
@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("training/app=bert", "k8s:training/app=bert: there are no such pods"),
        ("training/app=gpt", "k8s:training/app=gpt: none of 2 pods is ready"),
        ("training/app in (", "k8s:training/app in (: kubectl failed: "),
    ],
)
def test_what_finds_no_pod_says_why(where: str, said: str, api: ApiServer) -> None:
    api.objects["pods"] += [of(name, "10.0.0.1", is_ready=False) for name in "ab"]
    with pytest.raises(HostListError) as caught:
        read_hosts(f"k8s:{where}")
    assert str(caught.value).startswith(said)
    assert str(caught.value.hint).startswith("write k8s:training/job-name=gpt, ")


def test_without_kubectl_there_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostListError, match="k8s:a/b: the program kubectl is not installed here"):
        read_hosts("k8s:a/b")


def listing(*pods: Object) -> bytes:
    return json.dumps({"kind": "PodList", "items": pods}).encode()


def test_the_default_container_is_the_one_to_enter() -> None:
    sidecar = of("a", "10.0.0.1", containers=("istio-proxy", "trainer"))
    sidecar["metadata"]["annotations"] = {"kubectl.kubernetes.io/default-container": "trainer"}
    (found,) = parse_pods(listing(sidecar), "k8s:x")
    assert found.container == "trainer"


@pytest.mark.needs("kubernetes")
@pytest.mark.parametrize("others", [("main", "proxy"), ("other",)])
def test_an_unclear_container_is_asked_for_only_where_it_matters(
    others: tuple[str, ...], api: ApiServer
) -> None:
    api.objects["pods"] += [of("a", "10.0.0.1"), of("b", "10.0.0.2", containers=others)]
    found = read_hosts("k8s:training/app=gpt")
    assert [host.name for host in found.hosts] == ["a", "b"]
    with pytest.raises(HostListError, match=r"the container to use in \w is ambiguous") as caught:
        found.way(SshOptions())
    assert "kubectl exec -i -n training {host} -c CONTAINER --" in str(caught.value.hint)


def test_a_pod_that_is_being_deleted_is_left_out() -> None:
    leaving = of("a", "10.0.0.1")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert [pod.name for pod in parse_pods(listing(leaving, of("b", "10.0.0.2")), "x")] == ["b"]


@pytest.mark.parametrize("where", ["", "/", "a/b=\x1b[2J"])
def test_a_place_that_names_nothing_is_refused(where: str) -> None:
    with pytest.raises(HostListError):
        parse_where(where)


@given(st.text(max_size=40))
def test_any_text_is_a_place_or_refused(where: str) -> None:
    try:
        namespace, selector = parse_where(where)
    except HostListError:
        return
    assert namespace or selector
    assert selector.isprintable()
    assert selector in where


@given(st.recursive(st.none() | st.text() | st.integers() | st.just("Running"),
                    lambda inner: st.lists(inner) | st.dictionaries(
                        st.sampled_from(["items", "metadata", "name", "status", "spec",
                                         "containers", "conditions"]), inner)))  # fmt: skip
def test_any_json_is_pods_or_refused(data: object) -> None:
    try:
        found = parse_pods(json.dumps({"items": [data, data]}).encode(), "k8s:x")
    except HostListError:
        return
    assert found
