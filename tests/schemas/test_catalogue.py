"""The catalogue of schemas: complete, strict, described; and `plink schema`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hostile.verbs import verbs
from plink.cli import cli
from plink.cli import schemas as catalogue
from support.plink_command import plink_here
from support.schemas import check

DOCS = Path(__file__).resolve().parents[2] / "docs"
NAMES = list(catalogue.makers())

# The end of a member's name, and how its description says the unit.
UNITS = {
    "_us": "µs",
    "_s": r"\bs\b",
    "_gbit_s": "Gbit/s",
    "_mbit": "Mbit/s",
    "_bytes": "bytes|buffer",
    "_percent": "per cent",
    "seconds": r"\bs\b",
}


def members(schema: Any, place: str = "") -> Iterator[tuple[str, str, Any]]:
    """Every member of every object in a schema: its place, name and schema."""
    if isinstance(schema, list):
        for index, item in enumerate(schema):
            yield from members(item, f"{place}[{index}]")
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "properties" and "type" in schema:
                for name, member in value.items():
                    yield f"{place}.{name}", name, member
                    yield from members(member, f"{place}.{name}")
            elif key not in {"if", "properties"}:
                yield from members(value, place)


def test_every_verb_has_the_schema_of_its_output() -> None:
    assert set(catalogue.OUTPUTS) == {name for name, _ in verbs(cli)}


def test_every_kind_of_file_has_a_schema() -> None:
    told = set(re.findall(r"`plink\.(\w+)`, version", (DOCS / "files.md").read_text()))
    assert told == set(catalogue.FILES)


def test_every_schema_is_on_its_page() -> None:
    page = (DOCS / "schemas.md").read_text()
    assert set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one(name: str) -> None:
    schema = catalogue.schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    assert schema["title"]
    assert schema["description"]


@pytest.mark.parametrize("name", NAMES)
def test_members_are_described_with_their_units(name: str) -> None:
    found = list(members(catalogue.schema(name)))
    assert found
    for place, member, schema in found:
        told = schema.get("description", "")
        assert told, place
        unit = next(
            (UNITS[end] for end in sorted(UNITS, key=len)[::-1] if member.endswith(end)), ""
        )
        numeric = re.search("number|integer", str(schema.get("type")))
        assert not numeric or re.search(unit, told), f"{place}: {told!r} lacks its unit"


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema of an object with members."""
    if isinstance(schema, list):
        for item in schema:
            yield from objects(item)
    elif isinstance(schema, dict):
        if "properties" in schema and "type" in schema:
            yield schema
        for value in schema.values():
            yield from objects(value)


@pytest.mark.parametrize("name", NAMES)
def test_no_object_takes_members_that_it_does_not_name(name: str) -> None:
    for each in objects(catalogue.schema(name)):
        assert each["additionalProperties"] is False
        assert set(each["required"]) <= set(each["properties"])


@pytest.mark.parametrize("name", ["cluster", "autotune-serve-output"])
def test_the_verb_prints_a_schema(name: str) -> None:
    done = plink_here("schema", name)
    assert (done.code, done.stderr) == (0, "")
    assert json.loads(done.stdout) == catalogue.schema(name)


def test_the_verb_lists_all() -> None:
    lines = plink_here("schema").stdout.splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    told = json.loads(plink_here("schema", "--json").stdout)
    assert [row["name"] for row in told] == NAMES
    check("schema-output", told)


def test_a_wrong_name_is_refused() -> None:
    done = plink_here("schema", "clutser")
    assert done.code == 2
    assert done.stderr == "error: there is no schema 'clutser'\nhint: did you mean cluster?\n"
    assert "plink schema names them all" in plink_here("schema", "x").stderr
