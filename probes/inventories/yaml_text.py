"""YAML that other programs write. Pure."""

from __future__ import annotations

from typing import Any

import yaml

from plink.probes.errors import HostListError, clean


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Without aliases: few of them, nested, stand for more than any memory holds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read here")
        return super().compose_node(parent, index)


def _unknown(*_: object) -> None:
    """Ignore values with tags of other programs, such as !vault."""


_Loader.add_multi_constructor("!", _unknown)


def parse_yaml(text: str, source: str, hint: str) -> Any:
    """Parse YAML into Python's own types.

    Raises:
        HostListError: it is not YAML; `source` names it, and `hint` is the hint.
    """
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = clean(" ".join(str(error).split()))
        raise HostListError(f"{source}: not valid YAML ({said})", hint) from None
