"""Inventories of Ansible, as its documentation and published ones write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.measure.listed import read_hosts
from plink.probes.errors import HostListError
from plink.probes.inventories.ansible.inventory import listed_hosts
from plink.probes.inventories.ansible.patterns import expand_pattern
from plink.probes.inventories.ansible.reading import parse_inventory
from plink.probes.ssh.options import SshOptions

INI = """\
# hosts before any section are in no group
mail.example.com

[webservers]
foo.example.com
www[01:03].example.com ansible_user=deploy

[gpu]
jumper ansible_port=5555 ansible_host=192.0.2.50
gpu-[a:c]:2222 ansible_ssh_private_key_file='~/.ssh/gpu key' # a comment
[gpu:vars]
ansible_user=ubuntu

[control]
localhost ansible_connection=local

[usa:children]
webservers
gpu

[usa:vars]
ansible_user=nobody
ansible_port=22
"""

YAML = """\
---
all:
  hosts:
    mail.example.com:
  vars:
    ansible_user: everybody
  children:
    webservers:
      hosts:
        foo.example.com:
        www[01:02].example.com:
      vars: {ansible_user: deploy}
    gpu:
      hosts:
        jumper: {ansible_port: 5555, ansible_host: 192.0.2.50}
        secret: {ansible_become_password: !vault "x"}
    usa:
      children:
        webservers:
        gpu:
"""

# As `ansible-inventory --list` prints the documentation's examples.
LISTED = {
    "_meta": {
        "hostvars": {
            "ios01": {"ansible_host": "172.16.2.1", "ansible_user": "admin"},
            "ios02": {"ansible_host": "172.16.2.22"},
        }
    },
    "all": {"children": ["ungrouped", "ios"]},
    "ios": {"hosts": ["ios01", "ios02"]},
}


def described(
    content: str, group: str = "all"
) -> list[tuple[str, str | None, int | None, str | None]]:
    hosts, _ = listed_hosts(parse_inventory(content.encode(), "inv"), group)
    return [(host.name, host.user, host.port, host.connect_to) for host in hosts]


def test_ini() -> None:
    assert described(INI) == [
        ("mail.example.com", None, None, None),
        ("foo.example.com", "nobody", 22, None),
        *[(f"www0{number}.example.com", "deploy", 22, None) for number in (1, 2, 3)],
        ("jumper", "ubuntu", 5555, "192.0.2.50"),
        *[(f"gpu-{letter}", "ubuntu", 2222, None) for letter in "abc"],
    ]
    assert [host[0] for host in described(INI, "gpu")] == ["jumper", "gpu-a", "gpu-b", "gpu-c"]
    # The group of groups: its children's variables win over its own.
    assert ("jumper", "ubuntu", 5555, "192.0.2.50") in described(INI, "usa")


def test_yaml() -> None:
    assert described(YAML) == [
        ("mail.example.com", "everybody", None, None),
        ("foo.example.com", "deploy", None, None),
        *[(f"www0{number}.example.com", "deploy", None, None) for number in (1, 2)],
        ("jumper", "everybody", 5555, "192.0.2.50"),
        ("secret", "everybody", None, None),
    ]
    names = [host[0] for host in described(YAML, "usa")]
    assert names[:2] == ["foo.example.com", "www01.example.com"]


def test_what_ansible_inventory_prints() -> None:
    expected = [("ios01", "admin", None, "172.16.2.1"), ("ios02", None, None, "172.16.2.22")]
    assert described(json.dumps(LISTED)) == described(json.dumps(LISTED), "ios") == expected


def test_as_a_host_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    file = tmp_path / "inventory.ini"
    file.write_text(INI)
    found = read_hosts(f"ansible:{file}:gpu")
    assert found.made_from is not None
    # The only key that its hosts name, unless the user says another or wants SSH as it is.
    key = "/home/me/.ssh/gpu key"
    assert found.way(SshOptions()) == SshOptions(identity_file=key)
    assert found.way(SshOptions(identity_file="x", user="u")).identity_file == "x"  # type: ignore[union-attr]
    assert found.way(SshOptions(), is_ssh_said=True) == SshOptions()


def test_several_keys_are_the_users_to_choose(tmp_path: Path) -> None:
    file = tmp_path / "inventory"
    file.write_text("[g]\na ansible_private_key_file=/k1\nb ansible_private_key_file=/k2\n")
    found = read_hosts(f"ansible:{file}")
    with pytest.raises(HostListError, match="2 private keys"):
        found.way(SshOptions())
    assert found.way(SshOptions(identity_file="/k1")) == SshOptions(identity_file="/k1")


@pytest.mark.parametrize(
    ("content", "group", "said"),
    [
        ("[a]\nx\ny\n", "b", "inv: has no group 'b'"),
        ("[a]\nx ansible_host='{{ ip }}'\ny\n", "all", "inv: ansible_host of x is '{{ ip }}'"),
        ("[a]\nx ansible_connection=docker\ny\n", "all", "inv: x is reached by 'docker', not over"),
        ("[a]\nx ansible_port=ssh\ny\n", "all", "inv: the port of x is 'ssh'"),
        ("[a\nx\n", "all", "inv:1: '[a' begins no section"),
        ("[a]\nx y\n", "all", "inv:2: 'y' is not key=value"),
        ("[a]\nx b='\n", "all", "inv:2: no closing quotation"),
        ("[a]\nn[1:70000]\n", "all", "inv:2: the range 1:70000 runs backwards or is too long"),
        ("[a]\nn[5:1]\n", "all", "inv:2: the range 5:1 runs backwards or is too long"),
        ("[a:children]\nb\n[b:children]\na\n", "all", "inv: the group "),
        ("all: {hosts: [", "all", "inv: not valid YAML"),
        ("a: &x [1]\nb: *x\n", "all", "inv: not valid YAML (aliases are not read here)"),
        ("[a]\n-oProxyCommand=x\ny\n", "all", "inv: '-oProxyCommand=x' begins with a dash"),
    ],
)
def test_what_cannot_be_used_is_refused(content: str, group: str, said: str) -> None:
    with pytest.raises(HostListError) as caught:
        described(content, group)
    assert str(caught.value).startswith(said)


def test_ranges() -> None:
    assert expand_pattern("n[1:9:4]-[08:10]", "x") == [
        f"n{first}-{second}" for first in (1, 5, 9) for second in ("08", "09", "10")
    ]
    assert expand_pattern("2001:db8::1", "x") == ["2001:db8::1"]


@given(st.integers(0, 500), st.integers(0, 60), st.integers(1, 4))
def test_a_range_is_its_numbers(first: int, more: int, width: int) -> None:
    low = str(first).zfill(width)
    padded = len(low) if low.startswith("0") else 0
    assert expand_pattern(f"n[{low}:{first + more}]", "x") == [
        f"n{str(number).zfill(padded)}" for number in range(first, first + more + 1)
    ]


@given(st.text(alphabet="ab[]:=10 \n'\"#-{}&*!", max_size=60))
def test_any_text_is_an_inventory_or_refused(text: str) -> None:
    try:
        hosts = described(text)
    except HostListError:
        return
    assert len(hosts) >= 2


JUMP = '-o ProxyCommand="ssh -W %h:%p -q ubuntu@10.0.0.1"'


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("ansible_ssh_common_args", JUMP, "ProxyCommand"),
        ("ansible_ssh_common_args", "-J me@gate", "-J"),
        ("ansible_ssh_extra_args", "-o ProxyJump=gate", "ProxyJump"),
        ("ansible_ssh_extra_args", "-oProxyJump=gate", "ProxyJump"),
        ("ansible_ssh_args", "-C -F other", "-F"),
        ("ansible_ssh_args", "-o HostName=10.0.0.9", "HostName"),
        ("ansible_paramiko_proxy_command", "nc %h %p", "ansible_paramiko_proxy_command"),
        ("ansible_ssh_executable", "/opt/ssh", "ansible_ssh_executable"),
        ("ansible_ssh_pass", "x", "ansible_ssh_pass"),
        ("ansible_password", "x", "ansible_password"),
    ],
)
@pytest.mark.parametrize("is_of_group", [False, True])
def test_what_changes_the_way_to_a_host_is_refused_by_name(
    variable: str, value: str, named: str, is_of_group: bool
) -> None:
    quoted = f"'{value}'"
    text = f"n1 {variable}={quoted}\nn2\n"
    if is_of_group:
        text = f"[all]\nn1\nn2\n[all:vars]\n{variable}={quoted}\n"
    with pytest.raises(HostListError) as caught:
        listed_hosts(parse_inventory(text.encode(), "inventory"), "all")
    assert variable in str(caught.value)
    assert named in str(caught.value)
    assert caught.value.hint


def test_arguments_that_do_not_change_the_way_are_passed_over_and_keys_are_used() -> None:
    text = (
        "[all]\nn1\nn2\n[all:vars]\nansible_become=true\nansible_become_password=x\n"
        "ansible_ssh_common_args='-C -o ControlMaster=auto -o StrictHostKeyChecking=no "
        "-o UserKnownHostsFile=/dev/null -i ~/.ssh/gpu'\nansible_ssh_timeout=30\n"
        "ansible_python_interpreter=/usr/bin/python3\nansible_ssh_pipelining=True\n"
    )
    hosts, keys = listed_hosts(parse_inventory(text.encode(), "inventory"), "all")
    assert [host.name for host in hosts] == ["n1", "n2"]
    assert keys == ["~/.ssh/gpu"]
