"""Who may import whom (`docs/design.md`, The house), read from the installed sources.

Every import counts, wherever it stands: in a function or under `TYPE_CHECKING` too.
"""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import pytest

from support.sources import modules

# The folders of plink from the ground up: each may import those before it, none after it.
FOLDERS = (
    "probes",
    "solvers",
    "base",
    "plans",
    "formats",
    "measure",
    "model",
    "optimize",
    "deploy",
    "transport",
    "engine",
    "training",
    "hub",
    "autotune",
    "renumber",
    "torch",
    "torchrun",
    "ray",
    "simulate",
    "doctor",
    "bench",
    "show",
    "verbs",
    "cli",
)

# What a process that trains imports, and what must stay out of it.
TRAINING = (
    "plink.torch",
    "plink.autotune.protocol",
    "plink.autotune.ranks",
    "plink.training",
    "plink.hub",
    "plink.transport",
    "plink.engine",
    "plink.plans",
    "plink.formats.plan",
)
# What only a job imports that asks for new ranks, when it asks; and of this, what every rank does.
ON_DEMAND = "plink.renumber"
IN_EVERY_RANK = ("plink.renumber.job", "plink.renumber.launch")
NOT_IN_TRAINING = {"scipy", "sklearn", "z3", "paramiko", "click"}

# They know nothing else of plink, nor each other.
LIBRARIES = ("plink.probes", "plink.solvers")
PARSER = "plink.probes.json_parsing"

IMPORTS = (ast.Import, ast.ImportFrom)

Sources = Mapping[str, tuple[str, bool]]
"""Module name to its source text and whether it is a package."""


@functools.cache
def installed_sources() -> Sources:
    sources: dict[str, tuple[str, bool]] = {}
    for place, file in modules():
        parts = place.with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        sources[name] = (file.read_text(encoding="utf-8"), is_package)
    return sources


def imports_of(name: str, sources: Sources) -> set[str]:
    """The modules that `name` imports; those outside `sources` by their full dotted name."""
    return resolved(import_statements(sources[name][0]), name, sources)


@functools.cache
def import_statements(text: str) -> list[ast.stmt]:
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, IMPORTS)]


def imported_at_once(name: str, sources: Sources) -> set[str]:
    """Those of `imports_of` that importing the module itself imports, not a call of it."""
    return resolved(outside_functions(ast.parse(sources[name][0])), name, sources)


def imported_eagerly(name: str, sources: Sources) -> set[str]:
    """Those of `imported_at_once` that are outside blocks of `lazy_imports`."""
    tree = ast.parse(sources[name][0])
    lazy = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.With) and ast.unparse(block.items[0]) == "lazy_imports()"
        for node in ast.walk(block)
    }
    return resolved((node for node in outside_functions(tree) if node not in lazy), name, sources)


def imported_when_run(name: str, sources: Sources) -> set[str]:
    """Those of `imported_at_once` that are not for type checkers alone."""
    kept = [
        node
        for node in ast.parse(sources[name][0]).body
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    nodes = [part for node in kept for part in (node, *outside_functions(node))]
    return resolved(nodes, name, sources)


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from outside_functions(child)


def resolved(nodes: Iterable[ast.AST], name: str, sources: Sources) -> set[str]:
    is_package = sources[name][1]
    package = name if is_package else name.rpartition(".")[0]
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            base = ".".join(part for part in (above, node.module) if part)
            for alias in node.names:
                submodule = f"{base}.{alias.name}"
                found.add(submodule if submodule in sources else base)
    return found


def top_level(names: Iterable[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def ancestors(name: str) -> list[str]:
    """The packages that Python imports before `name`, and `name` itself."""
    parts = name.split(".")
    return [".".join(parts[: end + 1]) for end in range(len(parts))]


def reached_from(
    roots: Iterable[str],
    sources: Sources,
    imports: Callable[[str, Sources], set[str]] = imports_of,
    without: str | None = None,
) -> set[str]:
    """All that importing `roots` may import, directly or not, ours and others'.

    Args:
        roots: names of modules.
        sources: all modules.
        imports: what a module imports.
        without: a package whose imports are not followed; None for none.
    """
    reached: set[str] = set()
    waiting = [name for root in roots for name in ancestors(root)]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            if name in sources and not (without and is_in(name, without)):
                waiting += [part for item in imports(name, sources) for part in ancestors(item)]
    return reached


def upward_imports(folders: Sequence[str], sources: Sources) -> list[str]:
    """Imports of plink's folders that go against the order of `folders`."""
    floor_of = {folder: floor for floor, folder in enumerate(folders)}
    return [
        f"{name} imports {item}"
        for name in sorted(sources)
        for item in sorted(imports_of(name, sources))
        if name.startswith("plink.")
        and item.startswith("plink.")
        and floor_of[item.split(".")[1]] > floor_of[name.split(".")[1]]
    ]


def siblings_imported(sources: Sources) -> dict[str, set[str]]:
    """For every folder and module, which of its siblings it imports, itself or by what is in it."""
    graph: dict[str, set[str]] = {}
    for name in sources:
        for item in imports_of(name, sources) & sources.keys():
            mine, theirs = ancestors(name), ancestors(item)
            shared = sum(one == other for one, other in zip(mine, theirs, strict=False))
            if shared < min(len(mine), len(theirs)):
                graph.setdefault(mine[shared], set()).add(theirs[shared])
    return graph


def is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def imports_from_outside(package: str, sources: Sources) -> list[str]:
    """What a package imports of the rest of plink."""
    return [
        f"{name} imports {item}"
        for name in sorted(sources)
        if is_in(name, package)
        for item in sorted(imports_of(name, sources))
        if is_in(item, "plink") and not is_in(item, package)
    ]


def find_cycle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """A chain of modules or folders that import each other in a circle, or nothing."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name not in done:
            for item in sorted(graph.get(name, ())):
                cycle = visit(item, [*path, name])
                if cycle:
                    return cycle
            done.add(name)
        return []

    return next((cycle for name in sorted(graph) if (cycle := visit(name, []))), [])


def modules_imported(sources: Sources) -> dict[str, set[str]]:
    return {name: imports_of(name, sources) & sources.keys() for name in sources}


def training_reaches(sources: Sources) -> set[str]:
    roots = [name for name in sources for root in TRAINING if is_in(name, root)]
    return reached_from(roots, sources, without=ON_DEMAND)


def training_imports(sources: Sources) -> set[str]:
    return top_level(training_reaches(sources))


@pytest.mark.parametrize("package", LIBRARIES)
def test_probes_and_solvers_import_nothing_else_of_plink(package: str) -> None:
    assert imports_from_outside(package, installed_sources()) == []


def test_the_tuner_knows_no_daemon_and_of_files_only_the_limits_of_values() -> None:
    sources = installed_sources()
    tuner = [name for name in sources if name.startswith("plink.autotune.tuner.")]
    known = {name for name in reached_from(tuner, sources) if name.startswith("plink.")}
    assert tuner
    assert {name for name in known if name.startswith(("plink.formats", "plink.autotune"))} == {
        *("plink.formats", "plink.formats.limits"),
        *("plink.autotune", "plink.autotune.tuner"),
        *tuner,
    }


def test_packages_have_no_import_cycles() -> None:
    assert find_cycle(modules_imported(installed_sources())) == []


def test_folders_have_no_import_cycles() -> None:
    assert find_cycle(siblings_imported(installed_sources())) == []


def test_folders_import_only_those_before_them() -> None:
    sources = installed_sources()
    inside = {name.split(".")[1] for name in sources if name.startswith("plink.")} - {"__main__"}
    folders = [folder for folder in FOLDERS if folder in inside]
    assert inside <= set(FOLDERS), "say where a new folder stands in FOLDERS"
    without_main = {name: source for name, source in sources.items() if name != "plink.__main__"}
    assert upward_imports(folders, without_main) == []


def test_scapy_is_imported_by_the_program_for_the_hosts_alone() -> None:
    # Its licence, GPL-2.0, is not ours: it is an extra that plink itself does without.
    sources = installed_sources()
    users = [name for name in sources if "scapy" in top_level(imports_of(name, sources))]
    assert users == ["plink.probes.trace.worker"]
    assert [name for name in sources if users[0] in imports_of(name, sources)] == []


def test_what_needs_scikit_learn_is_loaded_when_it_is_used() -> None:
    # It takes a second, which `plink order` and `plink show` have no use for.
    sources = installed_sources()
    users = {name for name in sources if "sklearn" in top_level(imports_of(name, sources))}
    assert users
    loading = [name for name in sources if users & imported_eagerly(name, sources)]
    assert loading == []


def test_training_process_imports_nothing_heavy() -> None:
    reached = training_reaches(installed_sources())
    assert top_level(reached) & NOT_IN_TRAINING == set()
    assert {name for name in reached for library in LIBRARIES if is_in(name, library)} == {
        "plink.probes",
        PARSER,
    }


def test_the_parser_that_training_shares_with_probes_needs_the_standard_library_alone() -> None:
    reached = reached_from([PARSER], installed_sources())
    assert {name for name in reached if is_in(name, "plink")} == {"plink", "plink.probes", PARSER}
    assert top_level(reached) - sys.stdlib_module_names == {"plink"}


def test_only_a_job_that_asks_for_new_ranks_imports_what_measures() -> None:
    sources = installed_sources()
    users = [name for name in sources for root in TRAINING if is_in(name, root)]
    at_once = {item for name in users for item in imported_when_run(name, sources)}
    assert [item for item in at_once if is_in(item, ON_DEMAND)] == []
    every_rank = reached_from(IN_EVERY_RANK, sources, imported_when_run)
    assert top_level(every_rank) & NOT_IN_TRAINING == set()
    heavy = ("plink.solvers", "plink.measure", "plink.optimize", "plink.formats.order")
    assert [name for name in every_rank for package in heavy if is_in(name, package)] == []


def test_training_process_imports_no_simulator() -> None:
    sources = installed_sources()
    assert "plink.simulate" in sources
    reached = training_reaches(sources)
    assert [name for name in reached if name.startswith("plink.simulate")] == []


def test_import_plink_alone_imports_nothing_but_plink() -> None:
    program = (
        "import sys; before = set(sys.modules); import plink; print(*set(sys.modules) - before)"
    )
    # Isolated: neither the folder nor the environment of the caller adds modules.
    result = subprocess.run(
        [sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True
    )
    assert top_level(result.stdout.split()) - sys.stdlib_module_names == {"plink"}


def test_sources_are_found() -> None:
    assert {
        "plink",
        "plink.cli",
        "plink.probes.errors",
        "plink.solvers",
    } <= installed_sources().keys()


MADE_UP: Sources = {
    "plink": ("", True),
    "plink.torch": ("from plink.wire import frame", False),
    "plink.wire": ("from . import frame", True),
    "plink.wire.frame": ("def late():\n    import sklearn.cluster", False),
    "plink.cli": ("from .left import a\nimport click", True),
    "plink.cli.left": ("from plink.cli import right", False),
    "plink.cli.right": ("def late():\n    from plink.cli.left import b", False),
    "plink.probes": ("import json", True),
    "plink.probes.echo": ("from ..ssh import session\nimport plink.solvers.ring as ring", True),
    "plink.probes.ssh": ("if TYPE_CHECKING:\n    from plink.formats import cluster", True),
    "plink.solvers": ("", True),
}


def test_checker_resolves_absolute_and_relative_imports() -> None:
    assert imports_of("plink.wire", MADE_UP) == {"plink.wire.frame"}
    assert imports_of("plink.cli", MADE_UP) == {"plink.cli.left", "click"}
    assert imports_of("plink.probes.echo", MADE_UP) == {"plink.probes.ssh", "plink.solvers.ring"}


def test_checker_tells_imports_at_once_from_later_ones() -> None:
    assert imported_at_once("plink.wire.frame", MADE_UP) == set()
    assert imported_at_once("plink.cli", MADE_UP) == {"plink.cli.left", "click"}
    assert imported_at_once("plink.probes.ssh", MADE_UP) == {"plink.formats"}


def test_checker_finds_forbidden_imports_in_functions_and_type_checking_blocks() -> None:
    assert imports_from_outside("plink.probes", MADE_UP) == [
        "plink.probes.echo imports plink.solvers.ring",
        "plink.probes.ssh imports plink.formats",
    ]
    assert imports_from_outside("plink.solvers", MADE_UP) == []


def test_checker_finds_what_training_reaches_indirectly() -> None:
    assert training_imports(MADE_UP) == {"plink", "sklearn"}


def test_checker_finds_a_cycle_through_a_function() -> None:
    graph = modules_imported(MADE_UP)
    assert find_cycle(graph) == ["plink.cli.left", "plink.cli.right", "plink.cli.left"]
    assert find_cycle({**graph, "plink.cli.left": set()}) == []


ROOMS: Sources = {
    "plink.low.a": ("", False),
    "plink.low.b": ("from plink.high.x import one", False),
    "plink.high.x": ("", False),
    "plink.high.y": ("from plink.low.a import two", False),
}


def test_checker_finds_folders_that_import_each_other_without_a_cycle_of_modules() -> None:
    assert find_cycle(modules_imported(ROOMS)) == []
    assert find_cycle(siblings_imported(ROOMS)) == ["plink.high", "plink.low", "plink.high"]


def test_checker_finds_imports_that_go_up() -> None:
    assert upward_imports(["low", "high"], ROOMS) == ["plink.low.b imports plink.high.x"]
    assert upward_imports(["high", "low"], ROOMS) == ["plink.high.y imports plink.low.a"]
