"""Building blocks of schemas: JSON Schema (draft 2020-12) as Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def document(title: str, what: str, schema: Schema) -> Schema:
    """Return a schema as a top-level document with title and description."""
    return {"$schema": DIALECT, "title": title, "description": what, **_drop_description(schema)}


def _drop_description(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key != "description"}


def closed_object(
    what: str, required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None
) -> Schema:
    """Return the schema of an object with exactly these members."""
    return {
        "description": what,
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
        "additionalProperties": False,
    }


def by_name(what: str, values: Schema, pattern: str | None = None) -> Schema:
    """Return the schema of an object with arbitrary keys and values of one type."""
    names = {} if pattern is None else {"propertyNames": {"pattern": pattern}}
    return {"description": what, "type": "object", **names, "additionalProperties": values}


def settings(what: str) -> Schema:
    """Return the schema of an object with arbitrary members: the options of a run."""
    return {"description": what, "type": "object"}


def list_of(what: str, items: Schema, **limits: int) -> Schema:
    """Return the schema of a list; `limits` are `minItems` and `maxItems`."""
    return {"description": what, "type": "array", "items": items, **limits}


def text(what: str) -> Schema:
    """Return the schema of a text that is not empty."""
    return {"description": what, "type": "string", "minLength": 1}


def texts(what: str) -> Schema:
    """Return the schema of a list of texts."""
    return list_of(what, {"type": "string"})


def one_of(what: str, values: Sequence[Any]) -> Schema:
    """Return the schema of a value from an enumeration."""
    return {"description": what, "enum": list(values)}


def number(what: str, low: float | None = 0.0, high: float | None = None) -> Schema:
    """Return the schema of a number, whose description names its unit."""
    return {"description": what, "type": "number", **_limits(low, high)}


def whole(what: str, low: int | None = 0, high: int | None = None) -> Schema:
    """Return the schema of an integer."""
    return {"description": what, "type": "integer", **_limits(low, high)}


def _limits(low: float | None, high: float | None) -> Schema:
    limits = {"minimum": low, "maximum": high}
    return {name: value for name, value in limits.items() if value is not None}


def flag(what: str) -> Schema:
    """Return the schema of a boolean."""
    return {"description": what, "type": "boolean"}


def or_null(schema: Schema) -> Schema:
    """Return a schema that allows null as well."""
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def has(member: str) -> Schema:
    """Return a schema that is true for objects with this member."""
    return {"required": [member]}


def says(member: str, value: str) -> Schema:
    """Return a schema that is true for objects in which a member equals this text."""
    return {"required": [member], "properties": {member: {"const": value}}}


def by_case(cases: Sequence[tuple[Schema, Schema]], otherwise: Schema) -> Schema:
    """Return the schema of the first matching case, so that errors concern that case alone."""
    for case, schema in reversed(cases):
        otherwise = {"if": case, "then": schema, "else": otherwise}
    return otherwise


def numbers(what: str, low: float | None = 0.0, high: float | None = None) -> Schema:
    """Return the schema of a list of numbers."""
    return list_of(what, {"type": "number", **_limits(low, high)})


def whole_numbers(what: str, low: int | None = 0, high: int | None = None) -> Schema:
    """Return the schema of a list of integers."""
    return list_of(what, {"type": "integer", **_limits(low, high)})


def head(format_name: str, version: int) -> dict[str, Schema]:
    """Return the schemas of `format` and `version`, with which every file begins."""
    return {
        "format": {"description": "name of the format", "const": format_name},
        "version": {"description": "version of the format", "const": version},
    }
