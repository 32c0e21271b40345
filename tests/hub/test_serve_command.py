"""`plink hub serve` as a process: by TLS, with metrics, and the verbs that talk to it."""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.certificates import job
from hub.runs import MANIFEST
from plink.cli import run as plink
from plink.hub.hyper import Hyper
from plink.hub.serving import Server, ServerOptions
from plink.hub.serving import server as server_module
from plink.hub.worker import Worker, WorkerOptions
from plink.transport.proofs import read_secret
from plink.transport.tls import Tls
from support.plink_command import plink_argv, plink_here

NOBODY = ["--expect", "2", "--wait", "1"]
SECRET = ["--secret-file", "hub.secret"]


@contextlib.contextmanager
def hub(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server, and its address."""
    listen = ["--listen", "127.0.0.1:0", "--cores", "1"]
    server = subprocess.Popen(
        plink_argv("hub", "serve", *listen, *SECRET, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        yield server, server.stdout.readline().strip()
    finally:
        server.kill()
        server.communicate(timeout=100)


def test_files_that_others_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = job(tmp_path / "tls") + "/none"
    secret, key = Path("hub.secret"), Path(folder, "key.pem")
    for mode, named in ((0o600, []), (0o644, ["hub.secret", str(key)])):
        secret.write_text("0123456789abcdef0123456789abcdef")
        secret.chmod(mode)
        key.chmod(mode)
        with hub("--tls", folder) as (server, _):
            server.send_signal(signal.SIGTERM)
            _, said = server.communicate(timeout=100)
        notes = [line for line in said.splitlines() if "other users can read" in line]
        assert [line.split(": ")[1] for line in notes] == named


@pytest.mark.parametrize(
    "words",
    [
        ["hub", "status", "127.0.0.1:1", "--secret-file", "secret"],
        ["hub", "delete", "127.0.0.1:1", "--secret-file", "secret", "--name", "a"],
        ["hub", "checkpoint", "127.0.0.1:1", "--secret-file", "secret", "--name", "a"],
        ["autotune", "attach", "127.0.0.1:1", "--job", "a", "--secret-file", "secret"],
        ["kube", "manifests", "-o", "out", "--image", "plink", "--secret-file", "secret"],
        ["probe", "--listen", "127.0.0.1:0", "--secret-file", "secret", "-o", "c.json", *NOBODY],
    ],
)
def test_each_verb_says_where_others_may_read_a_secret(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    secret = Path("secret")
    secret.write_text("0123456789abcdef0123456789abcdef")
    for mode, count in ((0o600, 0), (0o640, 1)):
        secret.chmod(mode)
        plink(words)
        assert capsys.readouterr().err.count("secret: other users can read this secret") == count
        shutil.rmtree("out", ignore_errors=True)


def test_a_server_that_cannot_start_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of a loop that nobody stops aborts the process when that ends."""
    server = Server(ServerOptions(["127.0.0.1:0"], b"x" * 32, 1))

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(server_module, "Registry", interrupt)
    with pytest.raises(KeyboardInterrupt), server:
        pass
    assert (server._loops, server._listeners) == ([], [])


def test_the_verbs_talk_to_a_server_by_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = job(tmp_path / "tls") + "/none"
    with hub("--tls", folder, "--metrics", "127.0.0.1:0") as (server, address):
        asked = ["hub", "status", address, *SECRET]
        done = plink_here(*asked, "--tls", folder)
        assert (done.code, "no services" in done.stdout) == (0, True)
        done = plink_here(*asked)
        assert done.code == 1
        assert f"the hub at {address} speaks TLS, which this end was not told to" in done.stderr
        monkeypatch.setenv("PLINK_TLS", folder)
        made = ["hub", "create", address, *SECRET, "--workers", "1"]
        done = plink_here(*made, "--worker-secret-file", "job.secret", "--most-bytes", "1MB")
        assert done.code == 0
        options = WorkerOptions(tls=Tls.of_folder(folder))
        secret = read_secret("job.secret")
        with Worker([address], "job", secret, MANIFEST, options) as worker:
            worker.initialise(1.0)
            worker.gradients[:] = 1.0
            worker.push_pull([Hyper(lr=0.5)] * 2)
            assert np.all(worker.values == 0.5)
        done = plink_here(*asked)
        assert "job: 0 of 1 workers, iteration 1" in done.stdout
        assert plink_here("hub", "delete", address, *SECRET).code == 0
        made[-1:] = ["1", "--worker-secret-file", "more.secret", "--most-bytes", "1KB"]
        assert plink_here(*made).code == 0
        with pytest.raises(Exception, match="bytes, and its quota is 1000 bytes"):
            Worker([address], "job", read_secret("more.secret"), MANIFEST, options)
        assert server.stderr is not None
        said = [server.stderr.readline(), server.stderr.readline()]
        assert "with TLS only" in said[0]
        (url,) = re.findall(r"http://\S+", said[1])
        with urllib.request.urlopen(url, timeout=100) as answer:
            assert b'plink_hub_wanted_workers{service="job"} 1.0' in answer.read()
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=100) == 0


def test_a_server_in_the_clear_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = job(tmp_path / "tls") + "/host"
    with hub() as (server, address):
        done = plink_here("hub", "status", address, *SECRET, "--tls", folder)
        assert "broke off the hand-shake of TLS: does it use TLS, too?" in done.stderr
        assert server.stderr is not None
        # The server's threads say theirs when it already has an address.
        said = sorted([server.stderr.readline(), server.stderr.readline()])
        assert "dropped: it speaks TLS, which this server was not told to" in said[0]
        assert "without encryption" in said[1]


def test_a_folder_without_certificates_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with hub("--tls", "none") as (server, address):
        assert address == ""
        assert server.stderr is not None
        said = server.stderr.read()
    assert "none/certificate.pem: No such file or directory" in said
    assert "Traceback" not in said
