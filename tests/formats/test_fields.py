import re
from collections.abc import Callable
from typing import Any

import pytest

from plink.base.errors import WrongUseError
from plink.formats.fields import Fields

HOSTILE = [None, True, "", [], {}, -1, 1e999, float("nan"), 10**400, [[1]], {"a": 1}]

READERS: dict[str, tuple[Callable[[Fields], object], list[Any]]] = {
    "text": (lambda fields: fields.text("x"), ["a", " ", "\n"]),
    "word": (lambda fields: fields.word("x"), ["a", "gpu-01.rack", "fe80::1%eth0", "ü"]),
    "integer": (lambda fields: fields.integer("x", 0, 9), [0, 9]),
    "number": (lambda fields: fields.number("x", 0, 9), [0, 9, 0.5]),
    "object": (lambda fields: fields.object("x"), [{}, {"a": 1}]),
    "objects": (lambda fields: fields.objects("x"), [[], [{"a": 1}]]),
    "texts": (lambda fields: fields.texts("x"), [[], ["a"]]),
    "numbers": (lambda fields: fields.numbers("x", 1, 9), [[0], [9.0]]),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_takes_its_kind_and_nothing_else(reader: str) -> None:
    read, accepted = READERS[reader]
    for value in accepted:
        read(Fields({"x": value}, "f.json"))
    for value in [hostile for hostile in HOSTILE if hostile not in accepted]:
        with pytest.raises(WrongUseError, match=r"^f.json: x.* expected ") as caught:
            read(Fields({"x": value}, "f.json"))
        assert len(str(caught.value)) < 150


@pytest.mark.parametrize("reader", [name for name in READERS if name != "texts"])
def test_a_field_that_is_not_there(reader: str) -> None:
    with pytest.raises(WrongUseError, match=r"^f.json: x is missing"):
        READERS[reader][0](Fields({}, "f.json"))


def test_optional_fields_may_be_absent_or_null() -> None:
    for values in ({}, {"x": None}):
        fields = Fields(values, "f.json")
        assert fields.optional_integer("x", 0, 1) is None
        assert fields.optional_number("x", 0, 1) is None
        assert fields.optional_object("x") is None
    assert Fields({}, "f.json").objects("x", optional=True) == []
    assert Fields({}, "f.json").integer("x", 0, 9, default=3) == 3
    with pytest.raises(WrongUseError):
        Fields({"x": 5}, "f.json").optional_object("x")


@pytest.mark.parametrize(
    "name", ["a b", "a\n", "a\tb", "\x1b[31m", "-oProxyCommand=x", "a" * 256, "\u202e", "a\u00a0b"]
)
def test_a_word_can_neither_split_nor_steer(name: str) -> None:
    with pytest.raises(WrongUseError, match="expected a word"):
        Fields({"x": name}, "f.json").word("x")


def test_nested_objects_know_their_place() -> None:
    fields = Fields({"hosts": [{"name": "a"}, {"name": 5}]}, "f.json")
    with pytest.raises(WrongUseError, match=re.escape("f.json: hosts[1]: name is 5")):
        fields.objects("hosts")[1].text("name")
    with pytest.raises(WrongUseError, match=re.escape("f.json: hosts[0]: expected a JSON object")):
        Fields({"hosts": [1]}, "f.json").objects("hosts")
    with pytest.raises(WrongUseError, match=r"f.json: rtt: tool is missing"):
        Fields({"rtt": {}}, "f.json").object("rtt").text("tool")
