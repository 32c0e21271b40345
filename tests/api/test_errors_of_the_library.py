"""What an error of the library says where only a traceback shows it."""

from __future__ import annotations

import importlib
import inspect
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import plink
from api.clusters import rack_cluster
from plink.base.size import DEFAULT_SIZE_BYTES, parse_size
from plink.engine.forest import prepare_forest
from plink.plans.forest import OTHER_NUMBER
from plink.plans.regroup import flat

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have notes since Python 3.11")
def test_a_hint_is_a_note_of_its_exception() -> None:
    with pytest.raises(plink.PlinkError) as caught:
        plink.order("cluster.json")  # type: ignore[arg-type]
    assert caught.value.hint is not None
    assert caught.value.__notes__ == [f"hint: {caught.value.hint}"]
    assert not hasattr(plink.PlinkError("without a hint"), "__notes__")


def test_a_plan_for_other_ranks_says_what_to_do() -> None:
    with pytest.raises(plink.WrongUseError) as caught:
        prepare_forest(flat(4), 2)
    assert caught.value.hint == OTHER_NUMBER


def test_one_algorithm_may_be_given_as_a_text() -> None:
    prediction = plink.predict(rack_cluster(), size=1024, algorithms="gloo-ring")
    assert list(prediction) == ["gloo-ring"]


def test_a_file_is_read_as_the_kind_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    rack_cluster().save(path)
    assert isinstance(plink.read(path, plink.MeasuredCluster), plink.MeasuredCluster)
    with pytest.raises(plink.WrongUseError, match="holds a MeasuredCluster, expected RankOrder"):
        plink.read(path, plink.RankOrder)


@pytest.mark.parametrize("program", ["import plink; plink.order", "import plink.torch"])
def test_sources_that_are_not_built_say_so(tmp_path: Path, program: str) -> None:
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    for name in ("plink", "probes", "solvers"):
        shutil.copytree(CHECKOUT / name, tmp_path / name, ignore=ignored, symlinks=True)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: {tmp_path}/plink holds plink's source without")


@pytest.mark.parametrize("groups", ["n01", {"r1": "n01"}])
def test_a_text_is_no_list_of_groups(groups: object) -> None:
    with pytest.raises(plink.WrongUseError):
        plink.probe(["n01", "n02"], tool="uplinks", groups=groups)


@pytest.mark.parametrize("function", [plink.order, plink.plan])
@pytest.mark.parametrize("size", [1.5, 0, [1], None, "1XB"])
def test_what_is_no_size_is_refused(function: Callable[..., object], size: object) -> None:
    with pytest.raises(plink.WrongUseError, match="size"):
        function(rack_cluster(), size=size)


@pytest.mark.parametrize("name", ["engine", "distances"])
def test_a_choice_is_made(name: str) -> None:
    with pytest.raises(plink.WrongUseError, match=name):
        plink.order(rack_cluster(), **{name: None})
    with pytest.raises(plink.WrongUseError, match="method"):
        plink.group(rack_cluster(), method=None)  # type: ignore[arg-type]


def test_there_is_one_default_size() -> None:
    verbs = ("order", "plan", "bench", "slurm_order")
    commands = [importlib.import_module(f"plink.cli.{verb}").command for verb in verbs]
    defaults = {
        option.default
        for command in commands
        for option in command.params
        if option.name in ("size_bytes", "size", "sizes")
    }
    assert {parse_size(str(default)) for default in defaults} == {DEFAULT_SIZE_BYTES}
    for function in (plink.order, plink.plan):
        default = inspect.signature(function).parameters["size"].default
        assert parse_size(default) == DEFAULT_SIZE_BYTES


def test_a_sum_of_latencies_is_shown_as_a_score() -> None:
    order = plink.order(rack_cluster(), objective="latency", time_limit_s=0.1)
    assert order.is_score
    assert "score" in repr(order)
    assert "below random" not in repr(order)


WRONG_TYPES: list[tuple[Callable[..., object], str, object]] = [
    (plink.order, "algorithm", 5),
    (plink.order, "mesh", 5),
    (plink.order, "executor", 5),
    (plink.order, "seed", None),
    (plink.order, "time_limit_s", None),
    (plink.order, "interleave", None),
    (plink.plan, "collective", 5),
    (plink.plan, "collective", None),
    (plink.plan, "servers", None),
    (plink.plan, "servers", iter(["box:2"])),
    (plink.predict, "algorithms", np.array(["ring", "tree"])),
    (plink.predict, "collective", 5),
    (plink.diagnose, "live", None),
]


@pytest.mark.parametrize(("function", "name", "value"), WRONG_TYPES)
def test_a_value_of_a_wrong_type_is_refused(
    function: Callable[..., object], name: str, value: object
) -> None:
    with pytest.raises(plink.WrongUseError):
        function(rack_cluster(), **{name: value})


def test_traffic_of_a_wrong_type_is_refused() -> None:
    with pytest.raises(plink.WrongUseError):
        plink.order(rack_cluster(), mesh="dp=16", traffic=5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tool", "name", "value"),
    [
        ("echo", "timeout_s", None),
        ("echo", "interface", 5),
        ("echo", "remote_cache", 5),
        ("echo", "via", 5),
        ("echo", "ssh", "x"),
        ("iperf3", "congestion", 5),
        ("uplinks", "groups", 5),
        ("uplinks", "groups", {"a": 5}),
        ("uplinks", "groups", ["a", "b"]),
        ("dpdk", "nics", 5),
        ("dpdk", "nics", [5]),
    ],
)
def test_a_probe_refuses_a_value_of_a_wrong_type(tool: str, name: str, value: object) -> None:
    with pytest.raises(plink.WrongUseError):
        plink.probe(["n01", "n02"], **{"tool": tool, name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("hosts", [5, None])
def test_a_probe_needs_a_list_of_hosts(hosts: object) -> None:
    with pytest.raises(plink.WrongUseError):
        plink.probe(hosts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "options"), [(5, {}), (["x.csv", 5], {}), ("x.csv", {"unit": 5, "percentile": None})]
)
def test_an_import_refuses_values_of_a_wrong_type(path: object, options: dict[str, object]) -> None:
    with pytest.raises(plink.WrongUseError):
        plink.MeasuredCluster.from_measurements(path, **options)


def test_a_check_has_no_word_for_few_partners() -> None:
    with pytest.raises(plink.WrongUseError, match="partners"):
        plink.check(rack_cluster(), partners="auto")


@pytest.mark.parametrize("function", [plink.order, plink.plan, plink.predict])
def test_an_unknown_keyword_names_the_function(function: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) got .*'nope'"):
        function(rack_cluster(), nope=1)


@pytest.mark.parametrize(
    "options", [{"threads": 2.0}, {"ranks": 4.0}, {"seed": np.int64(3)}, {"slots": np.float64(1.0)}]
)
def test_whole_numbers_of_other_types_are_taken(options: dict[str, object]) -> None:
    assert plink.order(rack_cluster(1), **options).ranks == 4  # type: ignore[arg-type]
