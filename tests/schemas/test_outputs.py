"""What verbs print with `--json` is as their schemas say, and nothing else is.

`support.schemas` holds all other tests' output to them, too: of hosts, jobs and daemons.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.results import comparison, order_bench
from hostile.valid import path_of, write_all
from plink.autotune.protocol import status
from plink.autotune.protocol.status import Event, JobStatus
from plink.cli import probe_action, run_
from plink.cli import schemas as catalogue
from plink.deploy.run import EndedRank
from plink.formats.structs import encode
from support.plink_command import plink_here
from support.schemas import check, fault

# What needs no hosts; `{kind}` stands for a valid file.
LINES = [
    "import {csv} -o out.json",
    "import {pairs} -o out.json",
    "export {cluster}",
    "export {cluster} --quantity bandwidth",
    "doctor {cluster}",
    "doctor {comparison} --before {comparison}",
    "show {cluster}",
    "show {order}",
    "show {plan}",
    "show {comparison}",
    "show {log}",
    "show {timeline}",
    "group {cluster} -o out.json --truth racks",
    "order {cluster} --time-limit 0.05",
    "order {cluster} --time-limit 0.05 --objective bandwidth --ranks 4",
    "plan {cluster} --size 1MB",
    "plan {cluster} --size 1MB --servers gpu00:2,gpu03:2",
    "predict {cluster} --size 1MB --algo ring --algo bcube",
    "predict {order} --cluster {cluster} --size 1MB --collective broadcast",
    "predict {plan} --cluster {cluster}",
    "report {cluster} {order} -o out.html",
    "report {log} -o out.html",
    "report {timeline} -o out.html",
    "timeline {timeline} -o out.json",
    "autotune replay {log}",
    "kube manifests -o manifests --image plink",
    "kube metrics {cluster}",
    "hub bounds --model resnet50 --workers 8 --racks 2 --uplink 10gbit",
    "hub bounds --model 390MB --iteration 0.3 --workers 8 --ports 4 --link 400mbit",
    "hub cost --price gpu=1000 --gpus 8",
    "schema",
    "schema plan",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("outputs")
    write_all(found)
    (found / "racks").write_text("r0: gpu[00-02]\nr1: gpu[03-05]\n")
    return found


class Kinds(dict[str, Path]):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __missing__(self, kind: str) -> Path:
        return path_of(kind, self._folder)


@pytest.mark.parametrize("line", LINES)
def test_what_a_verb_prints_is_as_its_schema_says(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = plink_here(*line.format_map(Kinds(folder)).split(), "--json")
    assert done.code in (0, 3, 4), done.stderr
    words = line.split()
    verb = " ".join(words[:2]) if words[0] in ("autotune", "hub", "kube") else words[0]
    hold(verb, json.loads(done.stdout))


def hold(verb: str, data: Any) -> None:
    """Hold what was printed to the schema, and the schema to what was printed."""
    name = catalogue.output_name(verb)
    check(name, data)
    some = data[0] if isinstance(data, list) else data
    if "$schema" in some:
        return
    assert refuses(name, data, {**some, "colour": "red"})
    # Members that are there only with some files; of several shapes, all are of one.
    required = [member for member in some if refuses(name, data, without(some, member))]
    assert len(required) > len(some) / 2
    for member in required:
        assert refuses(name, data, {**some, member: mistyped(some[member])}), member


def mistyped(value: object) -> object:
    return {"colour": "red"} if value is None else 0.5 if isinstance(value, str | dict) else "red"


def without(data: Mapping[str, Any], member: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != member}


def refuses(name: str, data: Any, changed: Mapping[str, Any]) -> bool:
    return fault(name, [changed] if isinstance(data, list) else changed) is not None


def test_benches() -> None:
    found = comparison("n1: died")
    hold("bench", json.loads(json.dumps(encode(found))))
    outcome = order_bench([[1.0, 1.0, 1.0], [0.5, 0.5, 0.5], [2.0, 2.0, 2.0]])
    assert outcome.orders is not None
    printed = encode(outcome.orders)
    hold("bench", json.loads(json.dumps({**printed, "made_from": "sha256:0"})))


def test_a_picture_of_a_job() -> None:
    job = JobStatus("default", ["a", "b"], 4, iteration_s=0.5, busy_s=np.array([0.1, 0.2]))
    job.decisions["wait"] = 3
    job.latest.append(Event(1.0, "plan", "a new plan"))
    hold("autotune attach", status.to_json(job))


@pytest.mark.parametrize("failed", [None, EndedRank(3, "a", 7), EndedRank(0, "b", None, "gone")])
def test_the_end_of_a_job(failed: EndedRank | None) -> None:
    check("run-output", encode(run_.describe_end(failed, 1)))
    assert fault("run-output", {"rank": 1, "line": ""}) is None
    assert fault("run-output", {"rank": 1}) is not None


def test_members_of_probing_that_only_hosts_make() -> None:
    stage = {"tool": "echo", "asked": 2, "measured": 1, "seconds": 0.1, "interrupted": False}
    failures = [{"source": "a", "destination": "b", "reason": "silent"}]
    printed = {
        "output": "c.json",
        "hosts": 2,
        "unreachable": [{"host": "c", "reason": "refused"}],
        "stages": [{**stage, "warnings": [], "failures": failures}],
        "groups": [{"name": "g1", "hosts": ["a"]}],
        "resume": probe_action.resume_command("echo", "c.json"),
    }
    hold("probe", printed)
