"""`plink plan`, as a user runs it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509

from planning.clusters import rack_cluster
from plink.cli import run
from plink.formats import cluster as cluster_file
from plink.formats import document
from plink.formats import plan as plan_file
from plink.formats.cluster import Unreachable
from support.plink_command import plink, plink_here


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    cluster_file.write_cluster("c.json", rack_cluster([4, 4, 4, 4], uplink_gbit_s=0.2))
    return tmp_path


def test_the_installed_command_plans_from_end_to_end(folder: Path) -> None:
    text = Path("c.json").read_text()
    done = plink("plan", "-", "--size", "20MB", "-o", folder / "p.json", text=text)
    assert (done.code, done.stderr) == (0, "")
    assert [" ".join(line.split()) for line in done.stdout.splitlines()] == [
        "standard input: 20 MB on 16 hosts in 4 groups",
        "",
        "kind predicted of the bound between groups on the wire rounds",
        "2lha 1.20 s 1.00 x 120 MB 600 MB 4",
        "ring 1.50 s 1.25 x 150 MB 600 MB 30",
        "tree 2.45 s 2.04 x 200 MB 600 MB 8",
        "flat 4.80 s 4.00 x 480 MB 600 MB 2",
        "bound 1.20 s",
        "",
        "2lha: predicted to take 1.20 s, ring, the next best, 1.25 times that",
    ]
    plan = plan_file.read_plan(str(folder / "p.json"))
    assert plan.made_from == document.digest((folder / "c.json").read_bytes())
    assert (plan.kind, plan.forest.ranks, plan.forest.routes) == ("2lha", 16, 16)
    assert [rank.host for rank in plan.ranks] == [f"n{number:02}" for number in range(16)]
    assert plan.ranks[2].address == "10.0.0.3"


def test_a_kind_may_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "c.json", "--kind", "flat", "--ranks-per-host", "2", "-o", "p.json"]) == 0
    said = capsys.readouterr()
    assert "16 hosts in 4 groups, 32 ranks" in said.out
    assert "flat: as asked for, predicted to take" in said.out
    plan = plan_file.read_plan("p.json")
    assert (plan.kind, plan.forest.ranks, plan.size_bytes) == ("flat", 32, 100_000_000)


def test_json_holds_what_programs_need(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "c.json", "--json", "--size", "20MB", "--seed", "5"]) == 0
    said = capsys.readouterr()
    data = json.loads(said.out)
    assert (data["kind"], data["seed"], data["size_bytes"]) == ("2lha", 5, 20_000_000)
    assert (data["hosts"], data["ranks"], data["groups"], data["routes"]) == (16, 16, 4, 16)
    by_kind = {each["kind"]: each for each in data["candidates"]}
    assert set(by_kind) == {"2lha", "flat", "ring", "tree"}
    assert by_kind["2lha"]["rounds"] == 4
    assert by_kind["2lha"]["cross_group_bytes"] == pytest.approx(120e6)
    assert by_kind["2lha"]["time_s"] >= data["bound_s"] == pytest.approx(1.2)
    assert data["refused"] == []
    assert data["made_from"].startswith("sha256:")


def test_a_plan_on_standard_output_leaves_the_table_on_standard_error(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert run(["plan", "c.json", "-o", "-"]) == 0
    said = capfdbinary.readouterr()
    assert plan_file.decode_plan(document.parse(said.out, "plan"), "plan").kind == "2lha"
    assert b"predicted to take" in said.err


def test_what_is_assumed_and_missing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    known = rack_cluster([3], has_groups=False)
    missing = Unreachable("gone", "no route to host")
    cluster_file.write_cluster("c.json", type(known)(known.hosts, known.rtt, unreachable=[missing]))
    assert run(["plan", "c.json", "-o", "p.json"]) == 3
    said = capsys.readouterr()
    assert "no 2lha: no groups of near hosts are known" in said.out
    assert "note: no host's link was measured: assuming 10.0 Gbit/s each" in said.err
    assert "warning: gone was unreachable and gets no rank" in said.err
    assert plan_file.read_plan("p.json").forest.ranks == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["p.json"], "error: p.json: No such file or directory"),
        (["c.json", "--kind", "star"], "error: invalid value for '--kind'"),
        (["c.json", "--size", "0"], "error: --size '0' is not a whole number of bytes above 0"),
        (["c.json", "--ranks-per-host", "0"], "error: invalid value for '--ranks-per-host'"),
        (["c.json", "-o", "c.json"], "error: c.json: is the output, but also an input"),
        (["c.json", "-o", "no/p.json"], "error: no/p.json: there is no folder"),
        (
            ["c.json", "-o", "-", "--json"],
            "error: --json and the plan both write to standard output",
        ),
        (["c.json", "--ranks-per-host", "4096"], "error: 65536 ranks are too many for a plan"),
    ],
)
def test_wrong_use_is_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(said)


def test_a_hierarchy_without_groups_is_refused_with_a_hint(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cluster_file.write_cluster("c.json", rack_cluster([5], has_groups=False))
    assert run(["plan", "c.json", "--kind", "2lha"]) == 2
    said = capsys.readouterr().err
    assert "there is no plan of kind 2lha: no groups of near hosts are known" in said
    assert "linkage makes balanced ones" in said


def alternatives(path: str) -> list[str]:
    certificate = x509.load_pem_x509_certificate(Path(path).read_bytes())
    extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return [str(name.value) for name in extension.value]


def test_certificates_are_made_for_each_host_the_daemon_and_the_hub(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["plan", "c.json", "--ranks-per-host", "2", "--certificates", "tls"]
    assert run([*asked, "--valid-days", "3"]) == 0
    assert "copy the folder of each host to its host alone, as plink-tls" in capsys.readouterr().err
    assert len(list(Path("tls").iterdir())) == 18
    assert alternatives("tls/n02/certificate.pem") == ["n02", "10.0.0.3"]
    assert alternatives("tls/autotune/certificate.pem") == ["localhost", "plink:rank:none"]
    assert alternatives("tls/hub/certificate.pem") == ["localhost", "plink:rank:none"]
    files = {path.name: path.stat().st_mode & 0o777 for path in Path("tls/n02").iterdir()}
    assert files == dict.fromkeys(["authority.pem", "certificate.pem", "key.pem"], 0o600)
    assert {path.stat().st_mode & 0o777 for path in (Path("tls"), Path("tls/n02"))} == {0o700}
    authorities = {path.read_bytes() for path in Path("tls").glob("*/authority.pem")}
    assert len(authorities) == 1
    certificate = x509.load_pem_x509_certificate(Path("tls/n02/certificate.pem").read_bytes())
    authority = x509.load_pem_x509_certificate(authorities.pop())
    certificate.verify_directly_issued_by(authority)
    lasts = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert lasts == timedelta(days=3, hours=1)


def test_certificates_may_be_for_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "c.json", "--ranks-per-host", "2", "--certificates", "tls"]
    assert run([*asked, "--certificate-for", "rank"]) == 0
    assert alternatives("tls/5/certificate.pem") == ["n02", "10.0.0.3", "plink:rank:5"]
    assert len(list(Path("tls").iterdir())) == 34


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--valid-days", "3"], "--valid-days needs --certificates"),
        (["--certificate-for", "rank"], "--certificate-for needs --certificates"),
        (["--certificates", "."], ".: exists, and certificates are not overwritten"),
        (["--certificates", "no/where"], "no/where: No such file or directory"),
    ],
)
def test_certificates_that_cannot_be(
    options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "c.json", *options]) != 0
    assert sentence in capsys.readouterr().err


def with_servers(*arguments: object) -> list[str]:
    """What `plink plan` prints of nine hosts in a rack, one of which is a server."""
    cluster_file.write_cluster("one.json", rack_cluster([9], uplink_gbit_s=9.0))
    done = plink_here("plan", "one.json", "--size", "20MB", *arguments)
    assert done.code == 0, done.stderr
    return [" ".join(line.split()) for line in done.stdout.splitlines()]


def test_servers_are_compared_with_what_needs_none() -> None:
    lines = with_servers("--servers", "n00:8@400mbit", "-o", "p.json")
    assert lines[3:9] == [
        "ncc 405 ms 1.01 x 0 B 320 MB 2",
        "flat 700 ms 1.75 x 0 B 280 MB 2",
        "ring 700 ms 1.75 x 0 B 280 MB 14",
        "tree 898 ms 2.25 x 0 B 280 MB 6",
        "cc 2.84 s 7.09 x 0 B 280 MB 2",
        "bound 400 ms",
    ]
    text = " ".join(lines)
    assert "ncc: predicted to take 405 ms, flat, the next best, 1.73 times that" in text
    assert "k > N²/(2(N-1))" in text
    assert "all-reduce takes 0.875 of the servers' time" in text
    assert "route_ports" in json.loads(Path("p.json").read_text())


def test_too_few_ports_leave_the_server_out_and_say_so() -> None:
    text = " ".join(with_servers("--servers", "n00:4@400mbit", "-o", "p.json"))
    assert "flat: predicted to be as quick as ring, in the fewest rounds" in text
    assert "k > N²/(2(N-1))" in text
    plan = plan_file.read_plan("p.json")
    assert (plan.kind, len(plan.ranks)) == ("flat", 8)


def test_a_plan_with_servers_is_shown_and_runs_in_no_engine(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with_servers("--servers", "n00:2@400mbit", "--kind", "ps", "-o", "p.json")
    capsys.readouterr()
    assert run(["show", "p.json"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "servers 8 workers, by whose number a mean is divided" in shown
    assert "n00: 2 ports, 80.0 MB into each" in shown
    assert run(["show", "p.json", "--json"]) == 0
    ports = json.loads(capsys.readouterr().out)["ports"]
    assert [(each["host"], each["port"], each["received_bytes"]) for each in ports] == [
        ("n00", 0, 80e6),
        ("n00", 1, 80e6),
    ]
    for line in (
        "predict p.json --cluster one.json",
        "bench one.json --plan p.json --client engine -F /dev/null",
        "autotune serve p.json --listen 127.0.0.1:0",
    ):
        assert run(line.split()) == 2
        said = capsys.readouterr().err
        assert "1 rank of this plan is a server, which the engine does not run" in said
        assert "plink hub runs servers" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--kind ps", "--kind ps needs --servers"),
        ("--servers box", "'box' is not a host of c.json"),
        ("--servers n00 --kind hub", "not every group of workers has a server"),
        ("--servers n00 --collective broadcast", "can carry all-reduce only"),
    ],
)
def test_servers_that_cannot_be_are_refused(
    options: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "c.json", *options.split()]) == 2
    assert said in capsys.readouterr().err
