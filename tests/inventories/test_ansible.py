"""Inventories of Ansible, as its documentation and published ones write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.measure.listed import read_hosts
from plink.probes.errors import HostListError
from plink.probes.inventories.ansible import (
    Connection,
    describe_unused,
    expand_pattern,
    find_connections,
    parse_inventory,
)
from plink.probes.options import SshOptions
from plink.probes.ssh.config import SshConfig

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
    hosts = [found.host for found in connections(content, group)]
    return [(host.name, host.user, host.port, host.connect_to) for host in hosts]


def connections(content: str, group: str = "all") -> list[Connection]:
    return find_connections(parse_inventory(content.encode(), "inv"), group)


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
        ("[a]\nx ansible_host='$(id)'\ny\n", "all", "inv: '$(id)' is not a host name"),
        ("[a]\nx ansible_connection=docker\ny\n", "all", "inv: x is reached by 'docker', not over"),
        ("[a]\nx ansible_port=ssh\ny\n", "all", "inv: the port of x is 'ssh', expected a number"),
        ("[a\nx\n", "all", "inv:1: '[a' is not a section heading, such as [GROUP]"),
        ("[a]\nx y\n", "all", "inv:2: 'y' is not key=value"),
        (
            "[a]\nx b='\n",
            "all",
            "inv:2: the line cannot be split into words (no closing quotation)",
        ),
        ("[a]\nn[1:70000]\n", "all", "inv:2: the range 1:70000 runs backwards or is too long"),
        ("[a]\nn[5:1]\n", "all", "inv:2: the range 5:1 runs backwards or is too long"),
        ("[a:children]\nb\n[b:children]\na\n", "all", "inv: the group "),
        ("all: {hosts: [", "all", "inv: not valid YAML"),
        ("a: &x [1]\nb: *x\n", "all", "inv: not valid YAML (YAML aliases are not allowed)"),
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


# Of ansible.builtin.ssh, ansible.builtin.paramiko and the documentation of inventories.
ARGUMENTS = ["ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args"]
DOCUMENTED = [
    *ARGUMENTS,
    *["ansible_connection", "ansible_host", "ansible_port", "ansible_user", "ansible_password"],
    *["ansible_ssh_host", "ansible_ssh_port", "ansible_ssh_user", "ansible_ssh_pass"],
    *["ansible_ssh_password", "ansible_ssh_private_key_file", "ansible_private_key_file"],
    *["ansible_private_key", "ansible_ssh_private_key", "ansible_private_key_passphrase"],
    *["ansible_ssh_private_key_passphrase", "ansible_ssh_executable", "ansible_sftp_executable"],
    *["ansible_scp_executable", "ansible_scp_extra_args", "ansible_sftp_extra_args"],
    *["ansible_sftp_batch_mode", "ansible_ssh_transfer_method", "ansible_scp_if_ssh"],
    *["ansible_ssh_pipelining", "ansible_pipelining", "ansible_ssh_retries", "ansible_timeout"],
    *["ansible_ssh_timeout", "ansible_ssh_use_tty", "ansible_ssh_verbosity"],
    *["ansible_ssh_pkcs11_provider", "ansible_sshpass_prompt", "ansible_ssh_password_mechanism"],
    *["ansible_control_path", "ansible_control_path_dir", "ansible_host_key_checking"],
    *["ansible_ssh_host_key_checking", "ansible_shell_type", "ansible_shell_executable"],
    *["ansible_paramiko_proxy_command", "ansible_paramiko_host_key_auto_add"],
    *["ansible_paramiko_pass", "ansible_paramiko_look_for_keys", "ansible_paramiko_timeout"],
    *["ansible_become", "ansible_become_method", "ansible_become_user", "ansible_become_pass"],
    *["ansible_become_password", "ansible_become_exe", "ansible_become_flags"],
    *["ansible_sudo", "ansible_sudo_pass", "ansible_su", "ansible_su_pass"],
]
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
        connections(text)
    assert variable in str(caught.value)
    assert named in str(caught.value)
    assert caught.value.hint


def of_all(**variables: str) -> Connection:
    """The first of two hosts that all have these variables."""
    lines = [f'{name}="{value}"' for name, value in variables.items()]
    found = connections("[all]\nn1\nn2\n[all:vars]\n" + "\n".join(lines) + "\n")
    assert [each.host.name for each in found] == ["n1", "n2"]
    return found[0]


@pytest.mark.parametrize("variable", ["args", "common_args", "extra_args"])
@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ("-o StrictHostKeyChecking=no", ["StrictHostKeyChecking=no"]),
        ("-oStrictHostKeyChecking=False", ["StrictHostKeyChecking=no"]),
        ("-o 'StrictHostKeyChecking accept-new'", ["StrictHostKeyChecking=accept-new"]),
        ("-o UserKnownHostsFile=/dev/null", ["UserKnownHostsFile=/dev/null"]),
        ("-C -o GlobalKnownHostsFile=/dev/null -q", ["GlobalKnownHostsFile=/dev/null"]),
        ("-o IdentitiesOnly=yes", ["IdentitiesOnly=yes"]),
        ("-o ControlMaster=auto -o ControlPersist=60s -o ServerAliveInterval=30", []),
    ],
)
def test_options_of_host_keys_are_handed_on_to_ssh(
    variable: str, arguments: str, options: list[str]
) -> None:
    assert list(of_all(**{f"ansible_ssh_{variable}": arguments}).host.ssh_options) == options


@pytest.mark.parametrize("variable", ["ansible_host_key_checking", "ansible_ssh_host_key_checking"])
def test_host_key_checking_is_an_option_of_ssh_that_common_arguments_do_not_override(
    variable: str,
) -> None:
    said = {"ansible_ssh_common_args": "-o StrictHostKeyChecking=yes"}
    assert of_all(**{variable: "False"}, **said).host.ssh_options == (
        "StrictHostKeyChecking=no",
        "StrictHostKeyChecking=yes",
    )
    assert of_all(**{variable: "True"}, **said).host.ssh_options == ("StrictHostKeyChecking=yes",)
    with pytest.raises(HostListError, match=variable):
        of_all(**{variable: "perhaps"})


@pytest.mark.parametrize("has_client", [True, False])
def test_a_connection_follows_what_an_inventory_says_of_host_keys(
    has_client: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_client:
        monkeypatch.setenv("PATH", str(tmp_path))
    config = SshConfig(SshOptions(config_file="/dev/null"))
    plain = config.target(of_all().host)
    assert not plain.accept_new_host_keys
    found = config.target(
        of_all(
            ansible_host_key_checking="no",
            ansible_ssh_extra_args="-o StrictHostKeyChecking=yes -o UserKnownHostsFile=/dev/null "
            "-o IdentitiesOnly=true",
        ).host
    )
    assert found.accept_new_host_keys
    assert found.new_host_keys_file == "/dev/null"
    assert found.identities_only
    assert found.known_hosts_files == ("/dev/null", *plain.known_hosts_files[2:])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("-o UserKnownHostsFile=~/.bashrc", "UserKnownHostsFile=~/.bashrc"),
        ("-o GlobalKnownHostsFile=/etc/keys", "GlobalKnownHostsFile=/etc/keys"),
        ("-o StrictHostKeyChecking=maybe", "StrictHostKeyChecking=maybe"),
        ("-o HostKeyAlias=n9", "HostKeyAlias"),
        ("-o KnownHostsCommand=/bin/x", "KnownHostsCommand"),
    ],
)
def test_host_keys_from_elsewhere_are_refused_by_name(arguments: str, named: str) -> None:
    with pytest.raises(HostListError) as caught:
        of_all(ansible_ssh_common_args=arguments)
    assert f"has {named}, which" in str(caught.value)


def test_every_key_that_arguments_name_is_found() -> None:
    assert of_all(ansible_ssh_common_args="-C -i ~/.ssh/a -o IdentityFile=~/.ssh/b").keys == [
        "~/.ssh/a",
        "~/.ssh/b",
    ]
    said = {"ansible_ssh_args": "-i a", "ansible_private_key_file": "b"}
    assert of_all(**said).keys == ["b"]


def test_what_plink_does_in_its_own_way_is_named(tmp_path: Path) -> None:
    file = tmp_path / "inventory"
    file.write_text(
        "[all]\nn1 ansible_become=no\nn2 ansible_sudo_pass=x\n[all:vars]\nansible_become=true\n"
        "ansible_become_method=sudo\nansible_become_user=root\nansible_timeout=30\n"
        "ansible_python_interpreter=/usr/bin/python3\nansible_ssh_pipelining=True\n"
    )
    become, others = read_hosts(f"ansible:{file}").notes
    assert become.startswith(
        f"{file}: not used: ansible_become_method, ansible_become_user, ansible_become and 1 more ("
    )
    assert others.startswith(f"{file}: not used: ansible_timeout, ansible_ssh_pipelining (")
    file.write_text("[all]\nn1\nn2\n[all:vars]\nansible_become=false\n")
    assert not read_hosts(f"ansible:{file}").notes


@pytest.mark.parametrize("variable", DOCUMENTED)
def test_no_connection_variable_is_passed_over_in_silence(variable: str) -> None:
    values = {"ansible_connection": "docker", "ansible_ssh_port": "23", "ansible_shell_type": "cmd"}
    is_text = variable.endswith(("_host", "_user", "_file"))
    value = "no" if variable.endswith("_checking") else "yes"
    value = "-J gate" if variable in ARGUMENTS else "n9" if is_text else value
    plain = of_all()
    try:
        found = of_all(**{variable: values.get(variable, value)})
    except HostListError as error:
        said = str(error)
    else:
        said = " ".join(describe_unused([found], "inv"))
        if (found.host, found.keys) != (plain.host, plain.keys):
            return
    assert variable in said or variable in ("ansible_connection", "ansible_port")


def test_many_groups_of_many_hosts_take_neither_long_nor_much_memory() -> None:
    groups = "".join(f"[g{i}:children]\nall_of_them\n" for i in range(2_000))
    content = f"[all_of_them]\nn[1:20000]\n{groups}"
    assert len(described(content, "g1")) == 20_000
    variables = "".join(f"[g{i}:vars]\nansible_user=me\n" for i in range(2_000))
    with pytest.raises(HostListError, match="inv: too many groups hold too many hosts"):
        described(content + variables, "all")


def test_variables_that_are_no_texts_say_nothing() -> None:
    found = described("all: {hosts: {a: {1: 2}, b: }, vars: {3: 4, true: 5}}\n")
    assert [name for name, *_ in found] == ["a", "b"]
