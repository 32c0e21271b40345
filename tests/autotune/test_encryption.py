"""Ranks and viewers that talk to the daemon by TLS, and those that do not fit."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import pytest

from autotune.serving import HOST, SECRET, plan_of, serving, switching
from autotune.test_attaching import line_of, plink
from autotune.test_server import RANKS, next_plan, ranks
from engine.between import Between
from engine.certificates import job
from plink.autotune.daemon.attaching import attach
from plink.autotune.daemon.server import Served
from plink.base.errors import PlinkError, WrongUseError
from plink.base.replacing import replace
from plink.cli import run
from plink.formats import plan as plan_file
from plink.transport.encryption import context_of
from plink.transport.tls import Tls
from support.running import wait_for


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    return Tls.of_folder(job(tmp_path_factory.mktemp("tls") / "job") + "/host")


def jobs() -> dict[str, Served]:
    return {"job": Served(switching(RANKS), SECRET)}


def looked(port: int, tls: Tls | None) -> str:
    """What a viewer is shown, or why it is not."""
    try:
        with attach(HOST, port, SECRET, "job", tls) as viewer:
            return viewer.look().name
    except PlinkError as error:
        return str(error)


def test_ranks_and_a_viewer_talk_by_tls(tls: Tls) -> None:
    said: list[str] = []
    with serving(jobs(), said, tls=tls) as port, ranks(port, tls=tls) as them:
        assert next_plan(them).identity.number == 1
        assert looked(port, tls) == "job"
        assert next_plan(them).identity.number == 2
    assert said == []


def test_who_reads_the_network_sees_no_job(tls: Tls) -> None:
    seen = []
    for files in (None, tls):
        somebody = Between()
        thread = threading.Thread(target=somebody.serve)
        thread.start()
        with serving(jobs(), [], tls=files) as port:
            somebody.target = (HOST, port)
            assert looked(somebody.port, files) == "job"
            somebody.close()
        thread.join()
        seen.append(somebody.seen)
    assert [b"plinktune" in one for one in seen] == [True, False]


@pytest.mark.parametrize(
    ("ends", "shown", "said"),
    [
        (("own", None), "the autotuner speaks TLS, which this end", "it does not speak TLS"),
        ((None, "own"), "broke off the hand-shake of TLS: does it use TLS, too", "was not told to"),
        (("own", "other"), "that cannot be believed: ", "refused this end's certificate: "),
        (("own", "unsigned"), "its authority did not sign it", "that cannot be believed: "),
        (("own", "expired"), "its authority did not sign it", "that cannot be believed: "),
    ],
)
def test_who_does_not_fit_is_told_on_both_sides(
    ends: tuple[str | None, str | None], shown: str, said: str, tls: Tls, tmp_path: Path
) -> None:
    other = Tls.of_folder(job(tmp_path / "other") + "/host")
    expired = Tls.of_folder(job(tmp_path / "expired", days=-1) + "/host")
    files = {
        None: None,
        "own": tls,
        "other": other,
        "unsigned": replace(other, authority=tls.authority),
        "expired": replace(expired, authority=tls.authority),
    }
    of_daemon, of_viewer = (files[end] for end in ends)
    sentences: list[str] = []
    with serving(jobs(), sentences, tls=of_daemon) as port:
        assert shown in looked(port, of_viewer)
        wait_for(lambda: sentences)
    (sentence,) = sentences
    assert said in sentence


def test_a_certificate_that_is_not_valid_yet_is_not_called_broken_alone(
    tls: Tls, tmp_path: Path
) -> None:
    early = Tls.of_folder(job(tmp_path / "early", since_days=-1) + "/host")
    sentences: list[str] = []
    both = replace(tls, authority=early.authority)
    with serving(jobs(), sentences, tls=both) as port:
        assert "not valid yet" in looked(port, replace(early, authority=tls.authority))
        wait_for(lambda: sentences)
    (sentence,) = sentences
    assert "not yet valid" in sentence


def test_a_certificate_alone_is_not_enough(tls: Tls) -> None:
    said: list[str] = []
    with (
        serving(jobs(), said, tls=tls) as port,
        pytest.raises(PlinkError, match="job has another secret there"),
        attach(HOST, port, SECRET[::-1], "job", tls),
    ):
        pass


def test_files_that_cannot_be_used_are_named(tls: Tls, tmp_path: Path) -> None:
    junk = tmp_path / "junk.pem"
    junk.write_text("nothing of the kind")
    with pytest.raises(WrongUseError, match=r"junk\.pem and .* are no certificate and its key"):
        context_of(replace(tls, certificate=str(junk)), is_server=True)
    with pytest.raises(WrongUseError, match=r"junk\.pem is no authority"):
        context_of(replace(tls, authority=str(junk)), is_server=False)


def test_the_commands_talk_by_tls(
    tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    plan_file.write_plan("plan.json", plan_of(RANKS))
    folder = str(Path(tls.key).parent)
    with plink("serve", "plan.json", "--listen", "127.0.0.1:0", "--tls", folder) as daemon:
        told = line_of(daemon)
        assert "PLINK_TLS=FOLDER" in told
        address = re.findall(r"PLINK_AUTOTUNE=(\S+)", told)[0]
        asked = ["autotune", "attach", address, "--secret-file", "plan.json.secret", "--json"]
        assert run([*asked, "--tls", folder]) == 0
        assert json.loads(capfd.readouterr().out)["name"] == "job"
        monkeypatch.setenv("PLINK_TLS", folder)
        assert run(asked) == 0
        monkeypatch.delenv("PLINK_TLS")
        assert run(asked) == 1
        assert "the autotuner speaks TLS, which this end was not told to" in capfd.readouterr().err
