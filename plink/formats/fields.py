"""Checked access to the fields of a parsed JSON object; errors name file and field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plink.base.arguments import to_finite_number
from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.formats.limits import WORD_EXPECTED, is_word
from plink.formats.matrices import format_bound


class Fields:
    """Fields of a JSON object from an untrusted file, read with checks of type and range.

    Args:
        values: the object.
        place: where it stands, for error messages: the file's name and the path in it.

    Every method raises `WrongUseError` naming the place, the field and what was expected.
    """

    def __init__(self, values: Mapping[str, Any], place: str) -> None:
        self.values = values
        self.place = place

    def names(self) -> list[str]:
        """Return the names of the object's fields, in file order."""
        return list(self.values)

    def error(self, name: str, expected: str) -> WrongUseError:
        """Return the error for field `name`, which states the expected value."""
        if name not in self.values:
            return WrongUseError(f"{self.place}: {name} is missing (expected {expected})")
        found = brief(self.values[name])
        return WrongUseError(f"{self.place}: {name} is {found}, expected {expected}")

    def text(self, name: str) -> str:
        """Return a field's text, or raise WrongUseError if it is missing, empty or no text."""
        value = self.values.get(name)
        if not isinstance(value, str) or not value:
            raise self.error(name, "a text")
        return value

    def word(self, name: str) -> str:
        """Return a field's text if it is one word (`is_word`), else raise WrongUseError."""
        value = self.text(name)
        if not is_word(value):
            raise self.error(name, WORD_EXPECTED)
        return value

    def texts(self, name: str) -> list[str]:
        """Return a field's list of texts, empty if absent; WrongUseError for anything else."""
        value = self.values.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(name, "a list of texts")
        return value

    def integer(self, name: str, low: int, high: int, default: int | None = None) -> int:
        """Return a field's integer, `default` if absent; WrongUseError outside `low` to `high`."""
        value = self.values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.error(name, f"a whole number from {low} to {high}")
        return value

    def optional_integer(self, name: str, low: int, high: int) -> int | None:
        """Return a field's integer from `low` to `high`, or None if the field is absent or null."""
        return None if self.values.get(name) is None else self.integer(name, low, high)

    def number(self, name: str, low: float, high: float) -> float:
        """Return a field's number, or raise WrongUseError unless it is from `low` to `high`."""
        number = to_finite_number(self.values.get(name))
        if number is None or not low <= number <= high:
            raise self.error(name, f"a number from {format_bound(low)} to {format_bound(high)}")
        return number

    def optional_number(self, name: str, low: float, high: float) -> float | None:
        """Return a field's number from `low` to `high`, or None if the field is absent or null."""
        return None if self.values.get(name) is None else self.number(name, low, high)

    def numbers(self, name: str, size: int, high: float) -> list[float]:
        """Return a field's list of `size` numbers from 0 to `high`, or raise WrongUseError."""
        values = self.values.get(name)
        if not isinstance(values, list):
            raise self.error(name, f"{size} numbers")
        if len(values) != size:
            message = f"{self.place}: {name} has {len(values)} numbers, expected {size}"
            raise WrongUseError(message)
        for index, value in enumerate(values):
            number = to_finite_number(value)
            if number is None or not 0.0 <= number <= high:
                raise WrongUseError(
                    f"{self.place}: {name}[{index}] is {brief(value)}, "
                    f"expected a number from 0 to {format_bound(high)}"
                )
        return [float(value) for value in values]

    def flag(self, name: str) -> bool:
        """Return a field's boolean, False if absent; raise WrongUseError for any other value."""
        value = self.values.get(name, False)
        if not isinstance(value, bool):
            raise self.error(name, "true or false")
        return value

    def object(self, name: str) -> Fields:
        """Return the JSON object in a field, or raise WrongUseError if there is none."""
        value = self.values.get(name)
        if not isinstance(value, dict):
            raise self.error(name, "an object")
        return Fields(value, f"{self.place}: {name}")

    def optional_object(self, name: str) -> Fields | None:
        """Return the JSON object in a field, or None if the field is absent or null."""
        return None if self.values.get(name) is None else self.object(name)

    def objects(self, name: str, *, optional: bool = False) -> list[Fields]:
        """Return the JSON objects in a field's list; an absent one is empty only if `optional`."""
        value = self.values.get(name, [] if optional else None)
        if not isinstance(value, list):
            raise self.error(name, "a list")
        items = []
        for index, item in enumerate(value):
            place = f"{self.place}: {name}[{index}]"
            if not isinstance(item, dict):
                raise WrongUseError(f"{place}: expected a JSON object")
            items.append(Fields(item, place))
        return items
