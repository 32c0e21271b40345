"""Files that are no host list, but what a kind of host list reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from plink.measure.listed import read_hosts
from plink.probes.errors import HostListError


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("[gpu]\nn1\nn2\n", "ansible"),
        ("n1 ansible_host=10.0.0.1\nn2\n", "ansible"),
        ("all:\n  hosts:\n    n1:\n", "ansible"),
        ('{\n  "hosts": {\n    "sensitive": false,\n    "value": ["n1", "n2"]}}', "terraform"),
        ('{"instances": [{"nodeType": "ComputeNode"}]}', "pcluster"),
    ],
)
def test_the_hint_names_the_kind(content: str, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_text(content)
    with pytest.raises(HostListError) as caught:
        read_hosts(str(file))
    assert caught.value.hint == f"it looks like a list for {kind}:{file}"


def test_what_looks_like_none_keeps_its_hint(tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_text("n1 n2 n3\n")
    with pytest.raises(HostListError) as caught:
        read_hosts(str(file))
    assert "it looks like" not in str(caught.value.hint)
