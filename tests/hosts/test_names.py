"""One rule for the names of hosts, whichever file they come from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from plink.base.errors import WrongUseError
from plink.cli import run
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster, Unreachable
from plink.formats.hosts import Host
from plink.measure.listed import list_again, to_listed_host
from plink.probes.errors import HostListError
from plink.probes.hosts.address import is_address
from plink.probes.hosts.hostlist import ListedHost, find_name_fault
from plink.probes.options import SshOptions
from plink.probes.ssh.config import SshConfig
from plink.verbs.cluster import MeasuredCluster
from verify.orders import write_order

LEGAL = (
    *("gpu1", "gpu_1", "GPU-1.rack2.example.com", "gpu1.", "1gpu", "_build", "n" * 63),
    *("10.0.0.1", "2001:db8::1", "::ffff:10.0.0.1", "fe80::1%eth0", "fe80::1%br-0.5"),
)
HOSTILE = (
    *("y;touch${IFS}F;#", "$(touch F)", "`touch F`", "a b", "a\tb", "a\nHost *", "a'b", 'a"b'),
    *("*", "gpu?", "!gpu1", "a,b", "|1|x", "@revoked", "#a", "-oProxyCommand=touch F", "-"),
    *("user@host", "host:22", "fe80::1%$(touch F)", "fe80::1%a b", "2001:db8::1;x", "[::1]", ""),
    *("a..b", "999.1.1.1", "höst", "a\x00b", "a/b", "a\\b", "%h", "~", "n" * 64, "a." * 200),
)
HOSTILE_USERS = ("-l root", "a b", "a;b", "$(id)", "", "a\nb", "x" * 65)


@pytest.mark.parametrize("name", LEGAL)
def test_names_that_hosts_have(name: str) -> None:
    assert find_name_fault(name) is None
    to_listed_host(Host(name, "10.0.0.1", user="a.user-1+2@REALM"), "c.json")


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_mean_something_else_are_refused_everywhere(name: str, tmp_path: Path) -> None:
    assert find_name_fault(name) is not None
    for host in (Host(name, "10.0.0.1"), Host("a", "10.0.0.1", name)):
        with pytest.raises(HostListError, match=r"^c\.json: "):
            to_listed_host(host, "c.json")
    with pytest.raises(HostListError):
        list_again(Cluster([Host("a", "a")], unreachable=[Unreachable(name, "down")]), "c.json")
    with pytest.raises(WrongUseError):
        MeasuredCluster.from_matrix(["a", name], np.ones((2, 2)))
    for place in (
        ("hosts", 0, "name"),
        ("hosts", 0, "address"),
        ("hosts", 0, "ssh_address"),
        ("unreachable", 0, "source"),
    ):
        found = Cluster([Host("a", "a", "a"), Host("b", "b")], unreachable=[Unreachable("c", "d")])
        data = cluster_file.encode_cluster(found)
        data[place[0]][place[1]][place[2]] = name
        with pytest.raises(WrongUseError, match=rf"^c\.json.*{place[2]}"):
            cluster_file.parse_cluster(json.dumps(data).encode(), "c.json")
    order = write_order(tmp_path / "order.json", [Host("a", "10.0.0.1"), Host(name, "10.0.0.2")])
    assert run(["run", str(order), "--", "true"]) == 2


@pytest.mark.parametrize("user", HOSTILE_USERS)
def test_users_that_mean_something_else(user: str) -> None:
    with pytest.raises(HostListError, match="is not a user name"):
        to_listed_host(Host("a", "10.0.0.1", user=user), "c.json")
    data = cluster_file.encode_cluster(Cluster([Host("a", "a", user=user)]))
    with pytest.raises(WrongUseError, match="user"):
        cluster_file.parse_cluster(json.dumps(data).encode(), "c.json")


def test_a_zone_is_the_name_of_an_interface() -> None:
    assert is_address("fe80::1%eth0.100")
    assert not is_address("fe80::1%$(id)")
    assert not is_address("fe80::1%a b")


@pytest.mark.parametrize("directive", ["Match exec", "ProxyCommand sh -c"])
def test_the_ssh_configuration_is_not_asked_for_such_a_name(directive: str, tmp_path: Path) -> None:
    made = tmp_path / "made"
    (tmp_path / "config").write_text(
        f'Match exec "echo %n; touch {made}"\n  Port 9\n'
        if directive == "Match exec"
        else 'Host *\n  ProxyCommand sh -c "nc %h %p"\n'
    )
    config = SshConfig(SshOptions(config_file=str(tmp_path / "config")))
    with pytest.raises(HostListError, match=r"^c.json: 'y;touch.*' is not a host name"):
        config.target(ListedHost("y;touch${IFS}F;#", place="c.json"))
    with pytest.raises(HostListError, match="is not a user name"):
        config.target(ListedHost("y", user="$(id)"))
    assert not made.exists()


@pytest.mark.parametrize("verb", ["run", "probe"])
def test_no_file_runs_a_command_through_the_users_own_configuration(
    verb: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    evil = "y;touch${IFS}F;#"
    (tmp_path / "config").write_text('Host *\n  ProxyCommand sh -c "true %h %p"\n')
    hosts = [Host(evil, "10.0.0.1"), Host("b", "10.0.0.2")]
    if verb == "run":
        file = write_order(tmp_path / "order.json", hosts)
        arguments = ["run", str(file), "-F", str(tmp_path / "config"), "--", "true"]
    else:
        file = tmp_path / "cluster.json"
        cluster_file.write_cluster(str(file), Cluster(hosts))
        arguments = ["probe", "--resume", str(file), "-F", str(tmp_path / "config")]
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert "hosts[0].name" in said
    assert repr(evil) in said
    assert not (tmp_path / "F").exists()


@pytest.mark.parametrize("evil", ["y;touch${IFS}F;#", "*", "-x", "a@b"])
def test_import_refuses_such_names(
    evil: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = (
        f"us,a,{evil}\na,,1\n{evil},1,\n",
        f"source,destination,gbit_s\na,{evil},9\n",
        f"# pair: a {evil}\n# OSU MPI Latency Test v5\n1 2.0\n",
    )
    for text in texts:
        (tmp_path / "m").write_text(text)
        assert run(["import", str(tmp_path / "m"), "-o", str(tmp_path / "c.json")]) == 2
        assert f"{evil!r} " in capsys.readouterr().err
        assert not (tmp_path / "c.json").exists()
