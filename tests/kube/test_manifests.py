"""`plink kube manifests`: against published schemas, by kubectl, and by plink itself."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest

from plink.cli import cli
from plink.deploy.kubernetes.folder import files
from support.kubernetes import require_kubectl
from support.plink_command import plink_here

yaml = pytest.importorskip("yaml")

IMAGE = "registry:5000/teams/plink:0.1.0"
# The oldest and the newest of which the schemas are at hand.
VERSIONS = ("1.25", "1.37")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    done = plink_here("kube", "manifests", "-o", tmp_path / "k", "--image", IMAGE)
    assert done.code == 0, done.stderr
    assert f"kubectl apply -k {tmp_path / 'k'}" in done.stderr
    return tmp_path / "k"


def objects(text: str) -> list[dict[str, Any]]:
    return [item for item in yaml.safe_load_all(text) if item]


def of_files(folder: Path) -> list[dict[str, Any]]:
    """The objects in the folder's files, without what kustomize makes or patches."""
    files = [file for file in folder.glob("*.yaml") if file.name != "kustomization.yaml"]
    return [item for file in files for item in objects(file.read_text())]


def pods(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pods that these objects make."""
    specs = {
        item["kind"]: item["spec"] for item in found if item["kind"] in ("DaemonSet", "CronJob")
    }
    job = specs["CronJob"]["jobTemplate"]["spec"]
    return [specs["DaemonSet"]["template"]["spec"], job["template"]["spec"]]


def kustomized(folder: Path) -> list[dict[str, Any]]:
    """What kubectl would apply."""
    require_kubectl()
    done = subprocess.run(
        ["kubectl", "kustomize", folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return objects(done.stdout)


@pytest.mark.parametrize("version", VERSIONS)
def test_they_are_what_kubernetes_publishes(folder: Path, version: str) -> None:
    validate = pytest.importorskip("kubernetes_validate").validate
    found = of_files(folder)
    assert {item["kind"] for item in found} >= {"DaemonSet", "CronJob", "Service", "ClusterRole"}
    for item in found:
        validate(item, version, strict=True)


def test_a_schema_refuses_what_is_wrong(folder: Path) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    (agents,) = [item for item in of_files(folder) if item["kind"] == "DaemonSet"]
    agents["spec"]["template"]["spec"]["hostNetworks"] = True
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(agents, VERSIONS[-1], strict=True)


@pytest.mark.needs("kubernetes")
def test_kubectl_makes_of_them_what_is_applied(folder: Path) -> None:
    found = kustomized(folder)
    kinds = {item["kind"]: item for item in found}
    assert kinds["Secret"]["metadata"]["name"] != "plink", "a new secret starts agents anew"
    for item in found:
        cluster_wide = item["kind"] in ("Namespace", "ClusterRole", "ClusterRoleBinding")
        assert cluster_wide or item["metadata"]["namespace"] == "plink", item["kind"]
    assert kinds["ClusterRoleBinding"]["subjects"][0]["namespace"] == "plink"
    for pod in pods(found):
        (volume,) = [each for each in pod["volumes"] if each["name"] == "secret"]
        assert volume["secret"]["secretName"] == kinds["Secret"]["metadata"]["name"]
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            assert container["image"] == IMAGE


@pytest.mark.needs("kubernetes")
def test_the_network_of_nodes_is_an_option(tmp_path: Path) -> None:
    done = plink_here(
        "kube", "manifests", "-o", tmp_path / "k", "--image", "plink", "--host-network", "--json"
    )
    assert done.code == 0, done.stderr
    assert json.loads(done.stdout)["files"] == [
        *("agents.yaml", "kustomization.yaml", "labels-role.yaml", "namespace.yaml"),
        *("probe.yaml", "secret"),
    ]
    found = kustomized(tmp_path / "k")
    agents, prober = pods(found)
    assert agents["hostNetwork"]
    assert agents["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert "hostNetwork" not in prober
    (namespace,) = [item for item in found if item["kind"] == "Namespace"]
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


def test_pods_keep_to_the_restricted_standard(folder: Path) -> None:
    """Kubernetes documentation, Pod Security Standards."""
    for pod in pods(of_files(folder)):
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
        assert not pod["automountServiceAccountToken"]
        assert not pod.keys() & {"hostNetwork", "hostPID", "hostIPC"}
        allowed = {"name", "secret", "emptyDir", "projected"}
        assert {key for volume in pod["volumes"] for key in volume} <= allowed
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            own = container["securityContext"]
            assert own["capabilities"] == {"drop": ["ALL"]}
            assert own["readOnlyRootFilesystem"]
            assert not own["allowPrivilegeEscalation"]
            assert container["resources"]["limits"]["memory"]


def test_only_what_labels_nodes_speaks_to_the_api_server(folder: Path) -> None:
    agents, prober = pods(of_files(folder))
    mounted = {
        container["name"]
        for container in (*prober["initContainers"], *prober["containers"])
        if any(mount["name"] == "account" for mount in container["volumeMounts"])
    }
    assert mounted == {"labels"}
    assert "serviceAccountName" not in agents
    (role,) = [item for item in of_files(folder) if item["kind"] == "ClusterRole"]
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch"]}
    ]


def test_plink_takes_the_arguments(folder: Path) -> None:
    agents, prober = pods(of_files(folder))
    lines = [
        container["args"]
        for container in (*agents["containers"], *prober["containers"])
        if "args" in container
    ]
    script = prober["initContainers"][0]["command"][2].replace("\\\n", " ")
    lines += [
        re.sub(r'"\$(HOSTS|WAIT_S)"', "2", line).replace('"', "").split(" || ")[0].split()[1:]
        for line in script.splitlines()
        if line.strip().startswith("plink ")
    ]
    verbs = set()
    for line in lines:
        found: click.Command = cli
        context = click.Context(cli, **cli.context_settings)
        words = [word.replace("$POD_IP", "10.0.0.1") for word in line]
        while isinstance(found, click.Group):
            name, *words = words
            verbs.add(name)
            found = found.get_command(context, name) or cli
            context = click.Context(found, context)
        found.parse_args(context, list(words))
    assert verbs == {"agent", "probe", "group", "kube", "labels", "metrics"}


def test_a_secret_is_new_and_its_owner_s(folder: Path, tmp_path: Path) -> None:
    assert (folder / "secret").stat().st_mode & 0o777 == 0o600
    done = plink_here("kube", "manifests", "-o", tmp_path / "other", "--image", IMAGE)
    assert done.code == 0
    assert (tmp_path / "other" / "secret").read_text() != (folder / "secret").read_text()
    assert "secret" not in files(IMAGE, host_network=False)
    known = ("--secret-file", folder / "secret")
    done = plink_here("kube", "manifests", "-o", tmp_path / "third", "--image", IMAGE, *known)
    assert done.code == 0
    assert (tmp_path / "third" / "secret").read_bytes() == (folder / "secret").read_bytes()
    done = plink_here("kube", "manifests", "-o", folder, "--image", IMAGE)
    assert done.code == 2
    assert f"{folder}: the folder is not empty\nhint: choose a new folder" in done.stderr


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("plink", {"newName": "plink", "newTag": "latest"}),
        ("r.example.com/a/plink:1.0", {"newName": "r.example.com/a/plink", "newTag": "1.0"}),
        (
            f"localhost/plink@sha256:{'a' * 64}",
            {"newName": "localhost/plink", "digest": f"sha256:{'a' * 64}"},
        ),
    ],
)
def test_images_are_named(image: str, said: dict[str, str]) -> None:
    text = files(image, host_network=False)["kustomization.yaml"]
    assert yaml.safe_load(text)["images"] == [{"name": "plink", **said}]


@pytest.mark.parametrize("image", ["", "a b", "plink:", "-x", 'p"', "plink\n", "p@sha256:12"])
def test_other_names_are_refused(image: str, tmp_path: Path) -> None:
    done = plink_here("kube", "manifests", "-o", tmp_path / "k", "--image", image)
    assert done.code == 2
    assert "is not the name of a container image" in done.stderr
    assert not (tmp_path / "k").exists()
