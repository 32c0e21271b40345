"""Outputs of Terraform: the real one, whose machines are data of its own alone."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.measure.listed import read_hosts
from plink.probes.errors import HostListError
from plink.probes.inventories.clouds import find_hosts, parse_outputs

CONFIGURATION = """\
resource "terraform_data" "gpu" {
  count = 3
  input = {
    name       = "gpu-${count.index}"
    private_ip = "10.0.0.${count.index + 1}"
    public_ip  = "198.51.100.${count.index + 1}"
  }
}
output "machines" { value = terraform_data.gpu[*].output }
output "addresses" {
  value     = [for m in terraform_data.gpu : m.output.private_ip]
  sensitive = true
}
output "by_name" { value = { for m in terraform_data.gpu : m.output.name => m.output.private_ip } }
output "vpc" { value = "vpc-1" }
output "subnets" { value = ["subnet-1", "subnet-2"] }
"""

NAMED = [(f"gpu-{number}", f"10.0.0.{number + 1}") for number in range(3)]


def described(named: str) -> list[tuple[str, str | None]]:
    return [(host.name, host.ssh_address) for host in read_hosts(named).hosts]


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("terraform") is None:
        pytest.skip("needs terraform")
    folder = tmp_path_factory.mktemp("infrastructure")
    (folder / "main.tf").write_text(CONFIGURATION)
    for words in (["init"], ["apply", "-auto-approve"]):
        subprocess.run(
            ["terraform", *words, "-input=false"], cwd=folder, check=True, capture_output=True
        )
    return folder


def test_the_outputs_of_a_folder(applied: Path) -> None:
    assert described(f"terraform:{applied}:machines") == NAMED
    assert described(f"terraform:{applied}:by_name") == NAMED
    assert described(f"terraform:{applied}:addresses") == [(ip, None) for _, ip in NAMED]
    with pytest.raises(HostListError) as caught:
        read_hosts(f"terraform:{applied}")
    # Not subnets, which have names alone.
    assert str(caught.value) == f"terraform:{applied}: 3 outputs list hosts, expected one"
    named = [f"terraform:{applied}:{name}" for name in ("addresses", "by_name", "machines")]
    assert caught.value.hint == f"choose one of {', '.join(named)}"


def test_a_folder_that_is_no_configuration(tmp_path: Path) -> None:
    if shutil.which("terraform") is None:
        pytest.skip("needs terraform")
    with pytest.raises(HostListError, match="there is no output 'hosts'"):
        read_hosts(f"terraform:{tmp_path}:hosts")


def test_a_file_of_outputs(tmp_path: Path) -> None:
    file = tmp_path / "outputs.json"
    values = {"hosts": ["n1", "n2"], "region": "eu-1"}
    outputs = {
        name: {"sensitive": False, "type": "string", "value": value}
        for name, value in values.items()
    }
    file.write_text(json.dumps(outputs))
    assert described(f"terraform:{file}") == [("n1", None), ("n2", None)]
    # What `terraform output -json hosts` prints.
    file.write_text(json.dumps(values["hosts"]))
    assert described(f"terraform:{file}") == [("n1", None), ("n2", None)]


@pytest.mark.parametrize(
    "value",
    [
        # What the providers' own attributes are called, where whole resources are given out.
        [{"id": "i-0ab", "private_ip": "10.0.0.1", "tags": {"Name": "n1"}}],  # aws_instance
        [{"name": "n1", "network_interface": [{"network_ip": "10.0.0.1"}]}],  # google
        [{"name": "n1", "private_ip_address": "10.0.0.1", "public_ip_address": "203.0.113.1"}],
        [{"name": "n1", "access_ip_v4": "10.0.0.1"}],  # openstack
        [{"name": "n1", "ipv4_address": "10.0.0.1"}],  # hcloud
        {"n1": "10.0.0.1"},
        {"n1": {"private_ip": "10.0.0.1", "public_ip": "203.0.113.1"}},
    ],
)
def test_what_machines_are_called(value: object) -> None:
    assert find_hosts(value) == [("n1", "10.0.0.1")]


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b'{"a": 1, "a": 2}', "", "tf: not valid JSON (the name 'a' occurs twice in an object)"),
        (b"{}", "", "tf: no output lists hosts"),
        (b'{"a": {"sensitive": false, "value": ["n1", "n2"]}}', "b", "tf: there is no output 'b'"),
        (b'{"a": {"sensitive": false, "value": 3}}', "a", "tf: the output 'a' lists no hosts"),
        (
            b'{"a": {"sensitive": false, "value": ["x y"]}}',
            "a",
            "tf: the output 'a' lists no hosts",
        ),
        (b'["n1"]', "", "tf: n1 is the only host listed"),
    ],
)
def test_what_lists_no_hosts(content: bytes, name: str, said: str) -> None:
    with pytest.raises(HostListError) as caught:
        parse_outputs(content, "tf", name)
    assert str(caught.value) == said


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.just("10.0.0.1"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["value", "sensitive", "name", "ip", "n1", "tags"]), inner
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_outputs_or_refused(data: object) -> None:
    try:
        hosts = parse_outputs(json.dumps(data).encode(), "tf", "")
    except HostListError:
        return
    assert len(hosts) >= 2
