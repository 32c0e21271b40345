"""Safe parser of YAML that other programs write. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

from plink.probes.errors import HostListError, clean

# The parser is written in Python: it takes some 40 µs for each entry, 1 µs for each character.
_MOST_CHARACTERS = 2_000_000
_MOST_MARKS = 100_000
_MARKS = "[{,:\n"


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML loader that refuses aliases and duplicate keys.

    A few aliases, nested, stand for more than any memory holds; of a key that is there twice, the
    usual loader takes the last.
    """

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read here")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.YAMLError(f"line {key_node.start_mark.line + 1}: {key!r} occurs twice")
            if isinstance(key, Hashable):
                seen.add(key)
        return super().construct_mapping(node, deep)


def _unknown(*_: object) -> None:
    """Return None for a value with another program's tag, such as !vault."""


_Loader.add_multi_constructor("!", _unknown)


def parse_yaml(text: str, source: str, hint: str) -> Any:
    """Parse YAML into Python's own types.

    Raises:
        HostListError: it is not YAML, has a key twice or an alias, or is too large; `source` names
            it, and `hint` is the hint.
    """
    marks = sum(map(text.count, _MARKS))
    if len(text) > _MOST_CHARACTERS or marks > _MOST_MARKS:
        raise HostListError(f"{source}: is too large to be parsed as YAML", hint)
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = clean(" ".join(str(error).split()))
        raise HostListError(f"{source}: not valid YAML ({said})", hint) from None
