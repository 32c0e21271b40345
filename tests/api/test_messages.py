"""What the library says names no flags of the command line, but in commands to paste."""

from __future__ import annotations

import ast
import re

from support.sources import modules

_FLAG = re.compile(r"(?<![\w-])--[a-z]")
_COMMAND = re.compile(r"plink [a-z]+( [A-Z,]+| --[a-z-]+| [a-z0-9]+(?= --))+")

# Folders whose texts are the command line's: its options, the pages that commands print, and what
# only a command does.
OF_COMMANDS = (
    "plink/base/given_way.py",
    "plink/cli/",
    "plink/show/",
    "plink/autotune/daemon/",
    "plink/bench/",
    "plink/deploy/kubernetes/",
    "plink/measure/requests.py",
    "plink/optimize/orders/request.py",
    "plink/optimize/prediction_request.py",
    "plink/renumber/source.py",
    "plink/simulate/",
)

# Flags of other programs, which plink tells of or runs.
OF_OTHERS = (
    "plink/bench/clients/mpi_flavours.py",
    "plink/deploy/kubernetes/access.py",
    "plink/deploy/launchers/",
    "plink/deploy/remote/launcher.py",
    "plink/deploy/slurm/",
    "plink/deploy/verify.py",
    "plink/probes/fping.py",
    "plink/probes/hosts/launcher_files.py",
    "plink/probes/inventories/",
    "plink/probes/iperf3/tool.py",
    "plink/probes/remote/upload.py",
    "plink/simulate/simgrid/run.py",
    "plink/renumber/",
    "plink/torchrun/",
)


def flags_in(source: str) -> list[tuple[int, str]]:
    """The texts of a module with a flag in them, but for its docstrings: line and text."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
        and _FLAG.search(_COMMAND.sub("", node.value))
    ]


def named_in(left_out: tuple[str, ...]) -> list[str]:
    """Where a text outside these folders and files names a flag."""
    return [
        f"{place}:{line}: {text}"
        for place, module in modules()
        if not place.as_posix().startswith(left_out)
        and _FLAG.search(source := module.read_text(encoding="utf-8"))
        for line, text in flags_in(source)
    ]


def test_the_library_names_no_flags() -> None:
    assert named_in((*OF_COMMANDS, *OF_OTHERS)) == []


def test_launchers_flags_are_not_plinks() -> None:
    options = {"--algo", "--format", "--resume", "--slots", "--tool", "--groups", "--interleave"}
    texts = named_in(OF_COMMANDS)
    assert [text for text in texts if options & set(text.split())] == []


def test_a_flag_in_a_text_is_found() -> None:
    source = '''"""About --this."""
def say(name):
    """Not --that."""
    # nor --those
    raise ValueError(f"leave out {name}", "give --slots", "plink plan --slots 2 makes one")
USAGE = "a--b -c ---"
'''
    assert flags_in(source) == [(5, "give --slots")]
