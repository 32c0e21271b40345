"""Networks that users describe."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile.texts import NETWORKS
from plink.base.errors import WrongUseError
from plink.cli import run
from plink.formats import cluster as cluster_file
from plink.formats.structs import FormatError
from plink.measure.importing.described import import_network
from plink.model.network import build_network

TEXT = """\
latency_us = [10, 25, 60]
host_gbit_s = 25
uplink_gbit_s = 100
burst_bytes = 262144
hosts = "n4,n3,n2,n1,n5,n6"

[[groups]]
name = "r1"
hosts = "n[1-2]"

[[groups]]
name = "r2"
hosts = "n[3-4]"
uplink_gbit_s = 50
host_gbit_s = 10

[[rows]]
name = "row1"
groups = ["r1"]
uplink_gbit_s = 200

[clients.openmpi]
overhead_us = 5
serialised = 0.75
"""


def test_a_description_is_a_cluster() -> None:
    found = import_network(TEXT.encode(), "net.toml")
    assert found.names == ["n4", "n3", "n2", "n1", "n5", "n6"]
    assert found.rtt is not None
    assert found.rtt.readings_us[2, 3] == 20.0
    assert found.rtt.readings_us[0, 3] == 120.0
    network = build_network(found).network
    assert (network.send_bytes_s * 8e-9).tolist() == [10.0, 10.0, 25.0, 25.0, 25.0, 25.0]
    assert (network.uplink_send_bytes_s * 8e-9).tolist() == [100.0, 50.0]
    assert found.links is not None
    assert found.links.burst_bytes == 262144
    (fit,) = found.clients
    assert (fit.client, fit.overhead_us.value, fit.serialised.value) == ("openmpi", 5.0, 0.75)


def test_hosts_alone_are_as_far_from_each_other_as_groups_are() -> None:
    """In a group, between groups, and between rows, where what is in no row is alone."""
    text = 'latency_us = [1, 10, 100]\nhosts = "a,b,c,d"\n[[groups]]\nname = "g"\nhosts = "a,b"\n'
    found = import_network(text.encode(), "net.toml")
    assert found.rtt is not None
    assert found.rtt.readings_us[0, 1:].tolist() == [2.0, 20.0, 20.0]
    assert found.rtt.readings_us[2, 3] == 20.0
    rows = '[[rows]]\nname = "r"\ngroups = ["g"]\n'
    found = import_network((text + rows).encode(), "net.toml")
    assert found.rtt is not None
    assert found.rtt.readings_us[2].tolist()[:2] == [200.0, 200.0]
    assert found.rtt.readings_us[2, 3] == 200.0
    flat = import_network(b'latency_us = [1, 10]\nhosts = "a,b"\n', "net.toml")
    assert flat.rtt is not None
    assert flat.rtt.readings_us[0, 1] == 2.0


def test_a_group_may_be_one_host_and_a_host_may_have_slots() -> None:
    text = 'slots = 2\n[[groups]]\nname = "g"\nhosts = "a slots=4"\n'
    text += '[[groups]]\nname = "h"\nhosts = "me@b:2222"\n'
    found = import_network(text.encode(), "net.toml")
    assert [(host.name, host.slots) for host in found.hosts] == [("a", 4), ("b", 2)]
    assert (found.hosts[1].user, found.hosts[1].port) == ("me", 2222)


def test_the_list_of_all_hosts_tells_of_hosts_in_groups_too() -> None:
    text = 'hosts = "me@n2:222 slots=4\\nn1"\nslots = 2\n[[groups]]\nname = "r"\nhosts = "n[1-2]"\n'
    hosts = import_network(text.encode(), "net.toml").hosts
    assert [(host.name, host.slots, host.user, host.port) for host in hosts] == [
        ("n2", 4, "me", 222),
        ("n1", 2, None, None),
    ]
    for of_group in ("n2 slots=3", "you@n2", "n2 port=22"):
        with pytest.raises(WrongUseError, match=r"groups\[0\].hosts: \w+ of n2 is"):
            import_network(text.replace("n[1-2]", of_group).encode(), "net.toml")
    assert import_network(text.replace("n[1-2]", "n2 slots=4").encode(), "net.toml").hosts == hosts


def test_what_is_not_said_is_not_limited() -> None:
    """Not even where other hosts' links are."""
    text = '[[groups]]\nname = "g"\nhosts = "a,b"\nhost_gbit_s = 10\n'
    text += '[[groups]]\nname = "h"\nhosts = "c,d"\n'
    network = build_network(import_network(text.encode(), "net.toml")).network
    assert (network.send_bytes_s[2:] > 1e4 * network.send_bytes_s[0]).all()


def test_a_latency_that_is_not_said_takes_no_time(tmp_path: Path) -> None:
    """An order is searched for all the same."""
    path, made = tmp_path / "net.toml", str(tmp_path / "cluster.json")
    path.write_text(TEXT.replace("latency_us", "# latency_us"))
    assert run(["import", str(path), "-o", made]) == 0
    assert run(["order", made, "--algo", "ring", "--size", "1MB", "--time-limit", "0.1"]) == 0
    network = build_network(cluster_file.read_cluster(made)).network
    assert not network.latency_s.any()


def test_what_is_no_text_or_too_much_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(WrongUseError, match=r"net.toml:2: is not text in UTF-8"):
        import_network(b'hosts = "a,b"\n# \xff\n', "net.toml")
    path = tmp_path / "large.toml"
    path.write_text(TEXT + "#" * (1 << 20))
    assert run(["predict", "--network", str(path), "--size", "1MB"]) == 2
    assert "holds more than 1 MiB" in capsys.readouterr().err


def test_a_latency_is_a_list() -> None:
    with pytest.raises(FormatError) as caught:
        import_network(b'latency_us = 7\nhosts = "a,b"\n', "net.toml")
    assert caught.value.place == "latency_us"


def test_a_described_cluster_is_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(TEXT)
    made = tmp_path / "cluster.json"
    assert run(["import", str(path), "-o", str(made)]) == 0
    found = cluster_file.read_cluster(str(made))
    described = import_network(TEXT.encode(), "net.toml")
    assert (found.links, found.names) == (described.links, described.names)
    assert (
        cluster_file.encode_cluster(found)["clients"]
        == cluster_file.encode_cluster(described)["clients"]
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_what_cannot_be_is_one_sentence(name: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        import_network(NETWORKS[name], "net.toml")
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_a_network_or_refused(content: bytes) -> None:
    with contextlib.suppress(WrongUseError):
        assert import_network(content, "net.toml").hosts


_VALUE = st.one_of(
    st.integers(-2, 5),
    st.floats(),
    st.booleans(),
    st.just('"r1"'),
    st.just('["r1"]'),
    st.just("[]"),
)
_KEYS = ["latency_us", "host_gbit_s", "uplink_gbit_s", "burst_bytes", "slots", "hosts", "name"]


@given(
    st.dictionaries(st.sampled_from(_KEYS), _VALUE), st.dictionaries(st.sampled_from(_KEYS), _VALUE)
)
def test_wrong_values_are_refused_in_a_sentence(top: dict, group: dict) -> None:
    def lines(values: dict) -> str:
        texts = {True: "true", False: "false"}
        return "".join(
            f"{key} = {texts[value] if isinstance(value, bool) else value}\n"
            for key, value in values.items()
        )

    text = f"{lines(top)}[[groups]]\n{lines(group)}"
    with contextlib.suppress(WrongUseError):
        assert import_network(text.encode(), "net.toml").groups
