"""The examples of docs/api.md do what the page shows."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.lab import Lab, lab_cluster

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"

_BLOCK = re.compile(r"^```python( lab)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_examples(text: str, *, in_lab: bool) -> int:
    """Run those that need a lab, or those that need none; return how many there were."""
    blocks = [block for lab, block in _BLOCK.findall(text) if bool(lab) == in_lab]
    parser, runner = doctest.DocTestParser(), doctest.DebugRunner(optionflags=doctest.ELLIPSIS)
    examples = parser.get_doctest("\n\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    try:
        runner.run(examples, clear_globs=False)
    except doctest.UnexpectedException as failure:
        raise failure.exc_info[1] from None
    except doctest.DocTestFailure as failure:
        example = failure.example
        pytest.fail(f">>> {example.source}{failure.got}instead of\n{example.want}", pytrace=False)
    return len(examples.examples)


def test_the_examples_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_examples(PAGE.read_text(), in_lab=False) > 20
    assert (tmp_path / "hostfile").read_text().startswith("n01\nn10\n")


@pytest.mark.lab
# The outputs on the page say what was measured; a busy machine disturbs it.
@pytest.mark.filterwarnings("ignore::plink.PlinkWarning")
def test_the_examples_of_measuring_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with lab_cluster(racks=2, hosts=2) as lab:
        prepared(lab, tmp_path)
        monkeypatch.chdir(tmp_path)
        assert run_examples(PAGE.read_text(), in_lab=True) > 5


def prepared(lab: Lab, folder: Path) -> None:
    assert set(lab.names) == {"n01", "n02", "n03", "n04"}
    shutil.copy(lab.ssh_config, folder / "ssh_config")


# What plink itself is made of is read, and of other packages' types those that it shows to users.
CHECKED = """\
[mypy]
strict = true
follow_imports = skip
[mypy-plink.*]
follow_imports = normal
[mypy-scipy.*,paramiko.*]
follow_imports_for_stubs = true
"""


# A busy machine takes minutes for it.
@pytest.mark.timeout(1500)
def test_a_type_checker_sees_what_is_installed_and_has_nothing_to_say_of_the_examples(
    tmp_path: Path,
) -> None:
    parser = doctest.DocTestParser()
    blocks = [block for _, block in _BLOCK.findall(PAGE.read_text())]
    examples = [example for block in blocks for example in parser.get_examples(block)]
    (tmp_path / "page.py").write_text("".join(example.source for example in examples))
    (tmp_path / "wrong.py").write_text(
        "import plink\n"
        "reveal_type(plink.order(plink.probe(['a', 'b'])))\n"
        "plink.order('cluster.json', ranks='many')\n"
    )
    (tmp_path / "mypy.ini").write_text(CHECKED)
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", os.devnull]
    done = subprocess.run(
        [*command, "page.py", "wrong.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert len(examples) > 30
    assert "page.py" not in done.stdout, done.stdout
    assert 'Revealed type is "plink.verbs.order.RankOrder"' in done.stdout
    assert 'Argument "ranks" has incompatible type "str"' in done.stdout


def test_a_wrong_example_is_found() -> None:
    with pytest.raises(pytest.fail.Exception, match="instead of"):
        run_examples("```python\n>>> 1 + 1\n3\n```\n", in_lab=False)
