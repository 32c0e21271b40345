"""Limits come before the work, and files are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

import pytest

from plink.base.errors import PlinkError, WrongUseError
from plink.base.expanding import expand
from plink.cli import run as plink
from plink.formats import atomic_write, document
from plink.probes.errors import HostListError
from plink.probes.hosts.listing import parse_listing
from plink.probes.hosts.slurm import is_topology_conf
from plink.probes.inventories import topologies
from plink.probes.inventories.ansible import parse_inventory
from plink.probes.inventories.clouds import parse_instances, parse_outputs
from plink.probes.inventories.inventory import parse_yaml
from plink.probes.ssh.connect import ProxyCommand
from plink.simulate.simgrid import program
from plink.simulate.traces import edges, goal
from plink.transport.proofs import make_secret, read_secret
from support.cpu_time import least_cpu_s


def test_edges_are_counted_before_they_are_made() -> None:
    collected = edges.Edges()
    with pytest.raises(WrongUseError):
        collected.add(range(1 << 13), range(1 << 13), "trace")
    collected.add([1, 2], [3], "trace")
    assert collected.columns().tolist() == [[1, 2], [3, 3]]


def test_goal_whose_edges_multiply_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edges, "MAX_EDGES", 100)
    lines = ["num_ranks 1", "rank 0 {", "a: calc 1", "b: calc 1"]
    lines += ["b requires a"] * 11 + ["a irequires b"] * 11 + ["}"]
    with pytest.raises(WrongUseError):
        goal.parse("\n".join(lines), "trace")


def test_an_open_comment_is_refused_at_its_line_in_linear_time() -> None:
    def refused() -> None:
        with pytest.raises(WrongUseError, match="line 2"):
            goal.parse("num_ranks 1\n" + "/*a" * 40_000, "trace")

    assert least_cpu_s(refused, 1.0) < 1.0


def test_blank_lines_are_no_topology_in_linear_time() -> None:
    def refused() -> None:
        assert not is_topology_conf("\n" * 40_000)

    assert least_cpu_s(refused, 1.0) < 1.0


def test_packed_content_has_a_limit() -> None:
    assert expand(zlib.compress(b"abc"), 3) == b"abc"
    for content in (zlib.compress(bytes(1 << 20)), zlib.compress(b"abc")[:-1], b"abc"):
        with pytest.raises(ValueError, match="zlib data"):
            expand(content, 3)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"items": [], "items": []}', "'items' occurs twice"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": ' + "9" * 5000 + "}", "thousands of digits"),
        ('{"a": "\\ud800"}', "half of a surrogate pair"),
        ('{"a": [[]' + ", []" * (1 << 19) + "]}", "lists and objects exceed"),
        ('{"a":' * 100_000, "too deeply nested"),
    ],
)
@pytest.mark.parametrize(
    "read",
    [
        parse_listing,
        lambda content, source: parse_outputs(content, source, ""),
        parse_instances,
        parse_inventory,
        lambda content, _: topologies.read_topograph("file", lambda _: content),
        lambda content, _: document.parse(content, "file"),
    ],
    ids=["list", "terraform", "pcluster", "ansible", "topograph", "file"],
)
def test_listings_follow_the_rules_of_json_files(
    read: Callable[[bytes, str], object], text: str, reason: str
) -> None:
    with pytest.raises((HostListError, WrongUseError), match=reason):
        read(text.encode(), "hosts")


@pytest.mark.parametrize(
    "text",
    [
        "a: [" + "[]," * (1 << 20) + "]",
        "a: " + "b" * (1 << 22),
        "all:\n  hosts:\n" + "    n1: {a: 1}\n" * (1 << 18),
        "#" + "\n" * (1 << 22),
    ],
)
def test_large_yaml_is_refused_before_the_work(text: str) -> None:
    def refused() -> None:
        with pytest.raises(HostListError, match="the YAML is too large"):
            parse_yaml(text, "file", "hint")

    assert least_cpu_s(refused, 0.5) < 0.5


def test_a_key_that_is_there_twice_in_yaml_is_refused() -> None:
    for text in ("a: 1\nb: 2\na: 3", "all: {hosts: {n1: , n1: {x: 1}}}", "- {1: 2, 1: 3}"):
        with pytest.raises(HostListError, match="occurs twice"):
            parse_yaml(text, "file", "hint")
    assert parse_yaml("a: {b: 1}\nc: {b: 2}", "file", "hint") == {"a": {"b": 1}, "c": {"b": 2}}


def test_a_proxy_command_that_has_ended_is_at_its_end() -> None:
    proxy = ProxyCommand("true")
    try:
        proxy.settimeout(5.0)
        assert proxy.recv(100) == b""
    finally:
        proxy.close()


def test_links_are_followed_and_kept(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    document.write_bytes(str(tmp_path / "link"), b"1")
    document.write_bytes(str(tmp_path / "link"), b"2")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"2"
    assert sorted(os.listdir(tmp_path)) == ["link", "target"]  # noqa: PTH208


def test_nothing_stays_behind_a_dangling_link_where_writing_fails(tmp_path: Path) -> None:
    def fail(_stream: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="No space"):
        atomic_write.write_atomically(tmp_path / "link", fail, is_packed=False)
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_an_interrupt_when_the_new_file_was_just_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(descriptor: int, _mode: str) -> None:
        os.close(descriptor)
        raise KeyboardInterrupt

    (tmp_path / "file").write_bytes(b"1")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fdopen", interrupt)
        with pytest.raises(KeyboardInterrupt):
            document.write_bytes(str(tmp_path / "file"), b"2")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"1"]


def test_a_circle_of_links_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(PlinkError):
        document.write_bytes(str(tmp_path / "a"), b"1")


def test_a_pipe_without_a_reader_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic_write, "READER_WAIT_S", 0.1)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PlinkError):
        document.write_bytes(str(tmp_path / "pipe"), b"1")


def test_manifests_are_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    command = ["kube", "manifests", "-o", str(out), "--image", "registry/plink:1"]
    assert plink(command) == 0
    made = {path.name: path.stat().st_mode & 0o777 for path in out.iterdir()}
    assert made.pop("secret") == 0o600
    shutil.rmtree(out)
    # At each of the files, the secret among them.
    for place in range(len(made) + 1):
        left = iter([None] * place)

        def fail(_descriptor: int, left: Iterator[None] = left) -> None:
            if next(left, SimpleNamespace()) is not None:
                raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            assert plink(command) == 1
        assert list(tmp_path.iterdir()) == []


def test_a_secret_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, *_: object) -> BinaryIO:
        os.close(descriptor)
        return Path("/dev/full").open("wb", buffering=0)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdopen", full)
        with pytest.raises(WrongUseError, match="No space left"):
            make_secret(str(tmp_path / "secret"))
    assert list(tmp_path.iterdir()) == []
    made = make_secret(str(tmp_path / "secret"))
    assert read_secret(str(tmp_path / "secret")) == made


def test_a_simulator_that_others_may_replace_is_not_run(tmp_path: Path) -> None:
    kept = tmp_path / "simulator"
    kept.write_bytes(b"")
    kept.chmod(0o755)
    program._check_owner(kept)
    kept.chmod(0o775)
    with pytest.raises(PlinkError):
        program._check_owner(kept)
    if os.geteuid() == 0:
        kept.chmod(0o755)
        os.chown(kept, 1234, 1234)
        with pytest.raises(PlinkError):
            program._check_owner(kept)
