"""File formats as msgspec structs: decoding, encoding and JSON Schema.

A struct is the only declaration of what it holds. Types and limits come from its annotations, what
a type cannot say from its `__post_init__`, and descriptions from the `Attributes` section of its
docstring. Members that are None are left out of a file, and so are those that a struct names in
`IN_MEMORY`: they say where a value came from.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import fields

from plink.base.errors import WrongUseError
from plink.base.text import brief, printable
from plink.formats.limits import EXPECTED, Complete
from plink.formats.matrices import decode_array, describe_array

_Format = TypeVar("_Format")

# The members that a file begins with.
_HEAD = ("format", "version")
_PLACE = re.compile(r" - at `\$(?P<place>[^`]*)`$")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]+)\]")
_ATTRIBUTE = re.compile(r"^    (\w+(?:, \w+)*): (.+(?:\n {8,}.+)*)", re.MULTILINE)


class Output(Struct, frozen=True):
    """Base class of structs printed with `--json`: every member is printed, None as null.

    `OPTIONAL` names members that are left out while they are None. `COMPUTED` names properties
    that are printed, too; their types and docstrings are part of the schema.
    """


class FormatError(WrongUseError):
    """Error that a file does not have the content its format requires.

    Args:
        source: what messages call the file.
        place: path of the wrong value, such as `hosts[3].port`; empty for the whole file.
        reason: what was expected.
        hint: what the user can do about it.
    """

    def __init__(self, source: str, place: str, reason: str, hint: str | None = None) -> None:
        separator = " " if reason.startswith(("is ", "has ", "holds ")) else ": "
        text = separator.join(part for part in (place, reason) if part)
        super().__init__(f"{source}: {printable(text)}", hint)
        self.source = source
        self.place = place
        self.reason = reason


class InvalidValueError(ValueError):
    """Error that a struct's constructor refuses a value, with a hint for the user."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def convert(data: Any, kind: type[_Format], source: str) -> _Format:
    """Convert parsed JSON to an instance of a struct, or raise FormatError.

    Args:
        data: JSON value, in which a matrix may be an array of the binary form.
        kind: struct to make.
        source: what messages call the file.

    Raises:
        FormatError: a value is missing, unknown, of another type or outside its limits.
    """
    for name in getattr(kind, "IN_MEMORY", ()):
        if isinstance(data, dict) and name in data:
            raise FormatError(source, "", f"object contains unknown field `{name}`")
    try:
        converted = msgspec.convert(data, kind, str_keys=True, dec_hook=decode_array)
    except msgspec.ValidationError as error:
        place, reason = _explain(error, data)
        hint = getattr(error.__cause__, "hint", None)
        raise FormatError(source, place, reason, hint) from None
    except UnicodeEncodeError:
        raise FormatError(
            source, "", "holds half of a surrogate pair, expected Unicode text"
        ) from None
    if _has_complete(kind):  # type: ignore[arg-type]  # types of a variable have a hash, too
        _check_complete(converted, data, source)
    return converted


@functools.cache
def _has_complete(kind: Any) -> bool:
    return any(issubclass(struct, Complete) for struct in find_structs(kind))


def _check_complete(value: Any, data: Any, source: str, place: str = "") -> None:
    """Raise FormatError if a member of a `Complete` struct is not in the document."""
    if isinstance(value, Struct):
        for name in value.__struct_fields__:
            if name in data:
                inside = f"{place}.{name}" if place else name
                _check_complete(getattr(value, name), data[name], source, inside)
            elif isinstance(value, Complete):
                raise FormatError(source, place, f"object missing required field `{name}`")
    elif isinstance(value, list | tuple) and value and isinstance(value[0], Struct | tuple):
        for index, (item, part) in enumerate(zip(value, data, strict=True)):
            _check_complete(item, part, source, f"{place}[{index}]")


def check_members(struct: Struct, place: str = "") -> None:
    """Raise WrongUseError if a struct's member is outside its limits; constructors check none.

    Args:
        struct: struct that was just made.
        place: beginning of the message, such as `key 'a': `.
    """
    values = {name: getattr(struct, name) for name in struct.__struct_fields__}
    try:
        msgspec.convert(values, _copy_members(type(struct)), dec_hook=decode_array)
    except msgspec.ValidationError as error:
        member, what_is_wrong = _explain(error, values)
        raise WrongUseError(f"{place}{member} {printable(what_is_wrong)}") from None
    except UnicodeEncodeError:
        raise WrongUseError(f"{place}a text holds half of a surrogate pair") from None


@functools.cache
def _copy_members(kind: type[Struct]) -> type[Struct]:
    """Return a struct class with the members of another, but without its `__post_init__`."""
    return msgspec.defstruct(kind.__name__, [(each.name, each.type) for each in fields(kind)])


def _explain(error: msgspec.ValidationError, data: Any) -> tuple[str, str]:
    """Split msgspec's error into the path of the wrong value, and what is wrong with it."""
    text = str(error)
    found = _PLACE.search(text)
    place = "" if found is None else found["place"].removeprefix(".")
    reason = text if found is None else text[: found.start()]
    if error.__cause__ is None:
        for pattern, expected in EXPECTED.items():
            if f"matching regex {pattern!r}" in reason:
                reason = f"expected {expected}"
        reason = f"{_show_value(data, place)}{reason[:1].lower()}{reason[1:]}"
    return place, reason


def encode(value: Any, *, with_arrays: bool = False) -> Any:
    """Convert a struct to the JSON value of its file.

    Args:
        value: struct, or anything that is made of structs.
        with_arrays: leave arrays as they are, which `document.dump` writes; else as lists.
    """
    if isinstance(value, Struct):
        if value.__struct_config__.omit_defaults:
            return msgspec.to_builtins(value)
        return {name: encode(part, with_arrays=with_arrays) for name, part in _members(value)}
    if isinstance(value, Mapping):
        named = ((f"{n:g}" if isinstance(n, float) else str(n), part) for n, part in value.items())
        return {name: encode(part, with_arrays=with_arrays) for name, part in named}
    if isinstance(value, (list, tuple)):
        return [encode(part, with_arrays=with_arrays) for part in value]
    if isinstance(value, Enum):
        return value.value
    return value.tolist() if isinstance(value, np.ndarray) and not with_arrays else value


def _members(struct: Struct) -> Iterator[tuple[str, Any]]:
    """Yield name and value of each member to write into a file: format and version first."""
    config = struct.__struct_config__
    if config.tag is not None:
        yield str(config.tag_field), config.tag
    hidden = getattr(struct, "IN_MEMORY", ())
    for name in sorted(struct.__struct_fields__, key=lambda name: name not in _HEAD):
        member = getattr(struct, name)
        is_absent = member is None and (
            not isinstance(struct, Output) or name in getattr(struct, "OPTIONAL", ())
        )
        if not (is_absent or name in hidden):
            yield name, member
    for name in getattr(struct, "COMPUTED", ()):
        yield name, getattr(struct, name)


def describe_struct(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a struct or a union of structs."""
    (whole,), parts = msgspec.json.schema_components([kind], schema_hook=describe_array)
    for struct in find_structs(kind):
        _describe_members(parts[struct.__name__], struct)
    described: dict[str, Any] = _put_in_place(whole, parts)
    return described


def find_structs(kind: Any) -> list[type[Struct]]:
    """Return every struct that a type is composed of, itself included, once."""
    seen: dict[type[Struct], None] = {}

    def visit(part: Any) -> None:
        if isinstance(part, type) and issubclass(part, Struct) and part not in seen:
            seen[part] = None
            for member in get_type_hints(part).values():
                visit(member)
        for argument in get_args(part):
            visit(argument)

    visit(kind)
    return list(seen)


def describe_members(struct: type[Struct]) -> dict[str, str]:
    """Return the description of each member from the docstrings of a struct and its bases."""
    described: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        text = inspect.cleandoc(base.__doc__ or "") if issubclass(base, Struct) else ""
        for names, about in _ATTRIBUTE.findall(text.partition("Attributes:")[2]):
            for name in names.split(", "):
                described[name] = " ".join(about.split())
    return described


def _describe_members(schema: dict[str, Any], struct: type[Struct]) -> None:
    """Complete the schema of a struct with descriptions and required members."""
    schema["description"] = inspect.cleandoc(struct.__doc__ or "").partition("\n")[0]
    members = schema["properties"]
    for name in getattr(struct, "IN_MEMORY", ()):
        del members[name]
    for name, about in describe_members(struct).items():
        if name in members:
            members[name] = {"description": about, **members[name]}
    tag = struct.__struct_config__.tag_field
    if tag is not None:
        members[tag] = {"description": "which of the kinds this is", **members[tag]}
    optional = getattr(struct, "OPTIONAL", ())
    always = [name for name in (tag, *_HEAD) if name in members]
    if issubclass(struct, Output):
        for name in optional:
            (members[name],) = [
                {"description": members[name].get("description", ""), **kind}
                for kind in members[name]["anyOf"]
                if kind != {"type": "null"}
            ]
        always += [name for name in members if name not in optional]
        schema["additionalProperties"] = False
    if issubclass(struct, Complete):
        always += list(members)
    for name in getattr(struct, "COMPUTED", ()):
        members[name] = describe_property(struct, name)
        always.append(name)
    required = dict.fromkeys([*always, *schema.get("required", ())])
    schema["required"] = [name for name in required if name in members and name not in optional]


def describe_property(struct: type[Struct], name: str) -> dict[str, Any]:
    """Return the JSON Schema of a property from its return type and its docstring."""
    function = getattr(struct, name).fget
    about = inspect.cleandoc(function.__doc__ or "").partition("\n")[0]
    return {
        **describe_struct(get_type_hints(function, include_extras=True)["return"]),
        "description": about,
    }


def _put_in_place(schema: Any, parts: Mapping[str, Any]) -> Any:
    """Return a schema with every `$ref` replaced by the definition it refers to."""
    if isinstance(schema, list):
        return [_put_in_place(item, parts) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        part = _put_in_place(parts[schema["$ref"].rpartition("/")[2]], parts)
        return {**part, **{name: item for name, item in schema.items() if name != "$ref"}}
    return {
        name: _put_in_place(item, parts)
        for name, item in schema.items()
        if name not in ("default", "discriminator")
    }


def _show_value(data: Any, place: str) -> str:
    """Return the beginning of the JSON value at a path, for an error message."""
    value = data
    for member, index in _STEP.findall(place if place.startswith("[") else f".{place}"):
        try:
            value = value[member] if member else value[int(index)]
        except (LookupError, TypeError):
            return ""
    return "" if isinstance(value, (dict, list, Struct)) else f"is {brief(value)}, "
