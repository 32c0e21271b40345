"""A viewer sees what the daemon sees, no more; and ranks are told where to call."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from autotune.logs import plan_of_log, write_log
from autotune.serving import HOST, SECRET, TIMEOUT_S, serving, switching
from autotune.test_metrics import measured
from autotune.test_protocol import ends
from plink.autotune.daemon.attaching import Viewer, attach
from plink.autotune.daemon.server import Served
from plink.autotune.protocol import addresses
from plink.autotune.protocol.addresses import address_for, own_address
from plink.autotune.protocol.handshake import authenticate
from plink.autotune.protocol.messages import Watch
from plink.autotune.protocol.messages import to_json as message_to_json
from plink.autotune.protocol.status import JobStatus, from_json, to_json
from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.cli import autotune, run
from plink.formats import plan as plan_file
from plink.formats.plan import PlanRank
from plink.transport.addresses import format_address, is_wildcard
from plink.transport.frames import ProtocolError, payload_of
from support.ports import reserved_port


def fields_of(status: JobStatus) -> object:
    return json.loads(json.dumps(to_json(status)))


def test_a_viewer_sees_the_job_and_is_no_rank() -> None:
    said: list[str] = []
    job = measured()
    with serving({"job": Served(job, SECRET)}, said) as port:
        with attach(HOST, port, SECRET, "job") as viewer:
            seen = viewer.look()
            assert fields_of(seen) == fields_of(job.status)
            assert seen.throughput_bytes_s == 2000
            assert seen.sent_bytes.tolist() == job.status.sent_bytes.tolist()
            job.status.windows = 99
            assert viewer.look().windows == 99
        with attach(HOST, port, SECRET, "job") as viewer:
            assert viewer.look().ranks_there == 3
    assert said == []


def test_who_lacks_the_secret_sees_nothing() -> None:
    said: list[str] = []
    with serving({"job": Served(switching(2), SECRET)}, said) as port:
        for secret, name, why in (
            (SECRET[::-1], "job", "has another secret there"),
            (SECRET, "other", "closed the connection: another job"),
        ):
            with pytest.raises(PlinkError, match=why), attach(HOST, port, secret, name):
                pytest.fail("admitted")
    assert any("there is no job other here" in sentence for sentence in said)


def test_where_nobody_listens_no_daemon_answers() -> None:
    with (
        reserved_port(HOST) as port,
        pytest.raises(PlinkError, match="no daemon answers"),
        attach(HOST, port, SECRET, "job"),
    ):
        pytest.fail("somebody answers")


def test_a_daemon_that_ends_is_told() -> None:
    with contextlib.ExitStack() as stack:
        with serving({"job": Served(switching(2), SECRET)}, []) as port:
            viewer = stack.enter_context(attach(HOST, port, SECRET, "job"))
            assert viewer.look().iteration_s is None
        with pytest.raises(PlinkError, match=r"closed the connection|is gone"):
            viewer.look()


def test_an_answer_says_of_which_version_it_is_and_others_are_refused() -> None:
    with (
        serving({"job": Served(switching(2), SECRET)}, []) as port,
        socket.create_connection((HOST, port), TIMEOUT_S) as connection,
    ):
        channel = authenticate(connection, SECRET, "job")
        connection.sendall(channel.pack(payload_of(message_to_json(Watch()))))
        answered: list[dict[str, object]] = []
        while not answered:
            answered = channel.feed(connection.recv(1 << 16))
    assert answered[0]["version"] == 1
    with pytest.raises(ProtocolError, match="another version of plink"):
        from_json({**answered[0], "version": 2})


PICTURE = to_json(measured().status)


WRONG: list[object] = [None, True, -1, 0, 1 << 80, 1e308, "x", "", [], [None], ["x"], {}, {"a": 1}]


@pytest.mark.parametrize("name", sorted(PICTURE))
def test_an_answer_with_a_wrong_field_is_refused_or_still_a_picture(name: str) -> None:
    for value in WRONG:
        try:
            parsed = from_json({**PICTURE, name: value})
        except ProtocolError:
            continue
        assert len(parsed.sent_bytes) == len(parsed.hosts) > 0
        assert np.isfinite(parsed.sent_bytes).all()
        json.dumps(to_json(parsed), allow_nan=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"hosts": []},
        {"sent_bytes": [1.0]},
        {"busy_s": [-1.0, 0.0, 0.0]},
        {"ranks": 1 << 40},
        {"decisions": {"wait": "often"}},
        {"latest": [{"at_s": 0, "what": "x"}]},
        {"latest": [{"at_s": 0, "what": "x", "text": "y"}] * 1001},
        {"what": "plan"},
    ],
)
def test_a_hostile_answer_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ProtocolError):
        from_json({**PICTURE, **changes})


def test_a_daemon_that_talks_too_much_is_left() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        daemon_channel, channel = ends()
        twice = b"".join(daemon_channel.pack(payload_of(PICTURE)) for _ in range(2))
        theirs.sendall(twice)
        with pytest.raises(ProtocolError, match="more than it was asked"):
            Viewer(ours, channel).look()


def test_ranks_are_told_the_address_from_which_their_hosts_are_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = {"10.0.0.1": "10.0.0.9", "10.0.0.2": "10.0.1.9", "10.0.0.3": "10.0.1.9", "10.0.0.4": None}
    monkeypatch.setattr(addresses, "own_address", lambda towards, _family: own[towards])
    assert address_for(plan_of_log(), "0.0.0.0") == "10.0.1.9"
    monkeypatch.setattr(addresses, "own_address", lambda *_: None)
    assert address_for(plan_of_log(), "0.0.0.0") is None


def test_own_addresses_are_of_the_family_that_is_listened_on() -> None:
    assert own_address("127.0.0.1", socket.AF_INET) == "127.0.0.1"
    assert own_address("127.0.0.1", socket.AF_INET6) is None
    assert own_address("gpu01.example", socket.AF_INET) is None
    assert [is_wildcard(text) for text in ("0.0.0.0", "::", "127.0.0.1", "host")] == [
        True,
        True,
        False,
        False,
    ]
    assert (format_address("::1", 7), format_address("10.0.0.1", 7)) == ("[::1]:7", "10.0.0.1:7")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["attach", "127.0.0.1:1"], "attaching needs the job's secret"),
        (["attach", "nowhere"], "the daemon's address is 'nowhere', expected HOST:PORT"),
        (["attach", "h:1", "--job", "a b"], "--job is 'a b'"),
        (["attach", "h:1", "--listen", "h:2"], "no such option '--listen'"),
        (["attach", "h:1", "--replay", "x"], "no such option '--replay'"),
        (["attach", "h:1", "--all"], "no such option '--all'"),
        (["attach"], "missing argument 'HOST:PORT'"),
        (["serve", "plan.json"], "missing option '--listen'"),
        (["serve", "--listen", "h:1"], "missing argument '[NAME=]PLAN...'"),
        (["replay", "a.log", "plan.json"], "unexpected extra argument"),
        (["replay", "a.log", "--watch"], "no such option '--watch'"),
        (["--attach", "h:1", "--replay", "x"], "no such option '--attach'"),
        (["--json"], "no such option '--json'"),
        (["plan.json"], "no verb 'plan.json', expected serve, attach, replay"),
        (["sevre", "plan.json"], "no verb 'sevre'"),
    ],
)
def test_wrong_use_is_said(
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("PLINK_AUTOTUNE_SECRET", "PLINK_AUTOTUNE_SECRET_FILE"):
        monkeypatch.delenv(name, raising=False)
    assert run(["autotune", *arguments]) == 2
    assert said in capsys.readouterr().err


@contextlib.contextmanager
def plink(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process of the command; it is killed in any case."""
    with subprocess.Popen(
        [sys.executable, "-m", "plink", "autotune", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def interrupt_after(pauses: Iterator[int]) -> None:
    if next(pauses, None) is None:
        raise KeyboardInterrupt


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_a_daemon_on_all_addresses_goes_on_from_its_log_and_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = plan_of_log()
    plan = replace(plan, ranks=[PlanRank(rank.host, "127.0.0.1") for rank in plan.ranks])
    plan_file.write_plan("plan.json", plan)
    write_log(Path("tune.log"), plan=plan)
    Path("tune.log").write_bytes(Path("tune.log").read_bytes()[:-5])
    with plink("serve", "plan.json", "--listen", "0.0.0.0:0", "--log", "tune.log") as daemon:
        environment = dict(word.split("=", 1) for word in line_of(daemon).split() if "=" in word)
        host, _, port = environment["PLINK_AUTOTUNE"].rpartition(":")
        assert host == "127.0.0.1"
        secret_file = environment["PLINK_AUTOTUNE_SECRET_FILE"]
        attach = ["autotune", "attach", f"{host}:{port}", "--secret-file", secret_file]
        assert run([*attach, "--json"]) == 0
        seen = json.loads(capfd.readouterr().out)
        # Until interrupted: a line for what changed, which is nothing after the first.
        for options, shown in ((["--json", "--watch"], '"ranks_there": 0'), ([], "0 of 4 ranks")):
            pauses = iter(range(2))
            monkeypatch.setattr(autotune, "_pause", lambda pauses=pauses: interrupt_after(pauses))
            assert run([*attach, *options]) == 0
            assert capfd.readouterr().out.count(shown) == 1
        daemon.send_signal(signal.SIGINT)
        _, notes = daemon.communicate(timeout=TIMEOUT_S)
        assert daemon.returncode == 0
    assert seen["hosts"] == [rank.host for rank in plan.ranks]
    assert seen["ranks_there"] == 0
    assert "tune.log: 44 windows, the last line was cut and is left out; tuning goes on" in notes
    assert "job job's ranks are told 127.0.0.1" in notes


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("tune.log.gz", "expected an uncompressed file"),
        ("-", "expected an uncompressed file"),
        ("plan.json", "not a log of plink autotune"),
        ("no/tune.log", "there is no folder"),
    ],
)
def test_what_cannot_be_a_log_is_refused_before_anything_is_done(
    log: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    plan_file.write_plan("plan.json", plan_of_log())
    assert run(["autotune", "serve", "plan.json", "--listen", "127.0.0.1:0", "--log", log]) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]
