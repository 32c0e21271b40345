"""The schemas of files let pass what is written, and refuse what the readers refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from hostile.changes import changed_json
from hostile.texts import NAMES
from hostile.valid import write_all
from hub.snapshots import parts_of, state_of
from plink.base.errors import WrongUseError
from plink.formats import document
from plink.hub.service import ServiceOptions
from plink.hub.snapshot_file import header_of
from support.schemas import READERS, fault, is_refused

ABSENT = object()

# The formats that are structs; the readers of the others pass by members that they do not know.
# What readers do not look at, and schemas do: the diagonals of matrices, and a sentence for people.
NOT_READ = re.compile(r".*\.(\d+)\.\1|time_of_a_repetition")
# What may be absent by itself, but not here: other members say that it is there.
BY_OTHERS = {
    "objective",
    "rtt.rtt_us.10",
    "groups",
    "service.optimizer",
    "service.commit",
    "manifest.groups",
}


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    found = write_all(tmp_path_factory.mktemp("valid"))
    service = ServiceOptions("job", 2, "adamw", commit="step", clip_norm=1.0)
    (part,) = parts_of(service, state_of(service), (1,))
    snapshot = json.dumps(header_of(part, "0" * 64)).encode()
    return {**found, "autotune": found["log"].splitlines()[0], "snapshot": snapshot}


def type_of(value: object) -> str:
    """What JSON calls it; whole numbers are numbers, too."""
    if value is ABSENT:
        return "absent"
    kinds = {bool: "flag", int: "number", float: "number", str: "text", type(None): "null"}
    return kinds.get(type(value), type(value).__name__)


def difference(before: Any, after: Any) -> tuple[object, object]:
    """The one thing that was changed: what it was and what it is; of a list, the whole list."""
    if isinstance(before, dict) and isinstance(after, dict):
        names = {*before, *after}
        pairs = [(before.get(name, ABSENT), after.get(name, ABSENT)) for name in names]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = list(zip(before, after, strict=True))
    else:
        return before, after
    changed = [pair for pair in pairs if pair[0] is not pair[1] and pair[0] != pair[1]]
    return difference(*changed[0]) if changed else (before, before)


@pytest.mark.parametrize("kind", READERS)
def test_a_wrong_type_or_a_missing_member_is_refused_where_the_reader_refuses_it(
    kind: str, valid: Mapping[str, bytes]
) -> None:
    content = valid[kind]
    original = json.loads(content)
    assert fault(kind, original) is None
    too_strict, too_lenient, refused_by_both = [], [], 0
    for name, make in changed_json(content, 1):
        place, _, what = name.partition(" is ")
        # JSON has no infinity, and the parser refuses it before a schema could.
        if what in NAMES or what == "1e999":
            continue
        # A whole number to JSON Schema, and a fraction to the readers.
        if what == "-0.0":
            continue
        try:
            data = document.parse(make(), "file")
        except WrongUseError:
            continue
        refusals = (is_refused(kind, data), fault(kind, data) is not None)
        before, after = map(type_of, difference(original, data))
        if refusals == (False, True) and not NOT_READ.fullmatch(place):
            too_strict.append(name)
        if refusals == (True, False) and before != after and place not in BY_OTHERS:
            too_lenient.append(name)
        refused_by_both += refusals == (True, True)
    assert (too_strict, too_lenient) == ([], [])
    assert refused_by_both > 50


@pytest.mark.parametrize("kind", READERS)
def test_a_member_that_no_schema_knows_is_refused(kind: str, valid: Mapping[str, bytes]) -> None:
    data = json.loads(valid[kind])
    assert is_refused(kind, {**data, "colour": "red"})
    assert "colour" in str(fault(kind, {**data, "colour": "red"}))


def test_all_lines_of_a_log_are_as_its_schema_says(valid: Mapping[str, bytes]) -> None:
    lines = [json.loads(line) for line in valid["log"].splitlines()]
    assert [found for line in lines if (found := fault("autotune", line))] == []
    without_state = {**lines[1], "unlogged": 2}
    assert "'state' is a required" in str(fault("autotune", without_state))
    assert fault("autotune", {**without_state, "state": {}}) is None
