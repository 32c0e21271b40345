"""What tests make plink write and print is what its schemas say, in all tests.

Files and what verbs print are checked where plink writes them in the process of the tests, and
what other processes print in `support.plink_command`, whatever the test was about. It costs no run
that there would not be.
"""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import click
import pytest

from plink.autotune.log import records
from plink.base.errors import WrongUseError
from plink.cli import schemas as catalogue
from plink.formats import cluster, comparison, document, host_names, json_text, plan
from plink.formats import order as order_file
from plink.hub import snapshot_file
from plink.probes.hosts.hostlist import find_name_fault

# Verbs that print an object a line, each of which the schema is of.
_PRINT_LINES = ("autotune serve", "autotune attach", "run", "agent")
# Large files say nothing more than small ones, and take long.
MOST_BYTES = 1 << 16
READERS: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "cluster": lambda value: cluster.decode_cluster(value, "file"),
    "order": lambda value: order_file.decode_order(value, "file"),
    "plan": lambda value: plan.decode_plan(value, "file"),
    "comparison": lambda value: comparison.decode_comparison(value, "file"),
    "snapshot": lambda value: snapshot_file.parse_header(value, "file"),
    "autotune": lambda value: list(records.parse(f"{json.dumps(value)}\n".encode(), "file")[1]),
}
_GROUPS = {verb.partition(" ")[0] for verb in catalogue.OUTPUTS if " " in verb}


@functools.cache
def validator(name: str) -> Any:
    """What checks values against the schema of that name."""
    from jsonschema import Draft202012Validator

    schema = catalogue.schema(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def fault(name: str, value: Any) -> str | None:
    """Where a value is not what a schema says, and how; None where it is."""
    from jsonschema.exceptions import best_match

    error = best_match(validator(name).iter_errors(value))
    return None if error is None else f"{name}: {error.json_path}: {error.message[:500]}"


def check(name: str, value: Any) -> None:
    """Fail where a value is not what a schema says."""
    found = fault(name, value)
    assert found is None, found


def kind_of(value: Any) -> str | None:
    """The name of the schema of a file's content, by what it says that it is."""
    said = value.get("format") if isinstance(value, Mapping) else None
    name = str(said).removeprefix("plink.")
    return name if name in catalogue.FILES else None


# Many tests begin by writing the same file.
@functools.lru_cache(maxsize=128)
def check_content(content: bytes) -> None:
    """Fail where something that is written is no file as its schema says; pass by what is none."""
    if len(content) > MOST_BYTES or not content.startswith(b"{"):
        return
    for line in [content] if content.count(b"\n") > 1 else content.splitlines():
        value = json.loads(line)
        name = kind_of(value)
        if name is not None and not is_refused(name, value):
            check(name, value)


def is_refused(name: str, value: Mapping[str, Any]) -> bool:
    """Whether no reader takes a file, which then is one that a test made wrong."""
    # Some tests let names pass that no reader takes.
    with mock.patch.object(host_names, "find_name_fault", find_name_fault):
        try:
            READERS[name](value)
        except WrongUseError:
            return True
    return False


def check_printed(words: Sequence[str], stdout: str) -> None:
    """Fail where what a command line printed is not what the schema of its verb says."""
    own = words[: words.index("--")] if "--" in words else words
    if "--json" in own and is_possible():
        verb = " ".join(own[:2]) if own[0] in _GROUPS else own[0]
        check_output(verb, stdout)


def check_output(verb: str, stdout: str) -> None:
    """Fail where what a verb printed is not what its schema says."""
    if len(stdout) > MOST_BYTES or not stdout.strip():
        return
    name = catalogue.output_name(verb)
    for text in stdout.splitlines() if verb in _PRINT_LINES else [stdout]:
        check(name, json.loads(text))


def check_said(text: str) -> None:
    """The same, of what is about to be printed by the verb that this thread is in."""
    context = click.get_current_context(silent=True)
    if context is not None and context.params.get("as_json"):
        verb = context.command_path.partition(" ")[2]
        check_output("check" if context.params.get("check") else verb, text)


def is_possible() -> bool:
    """Whether there is a package that checks."""
    return importlib.util.find_spec("jsonschema") is not None


@pytest.fixture(scope="session", autouse=True)
def files_are_as_their_schemas_say() -> Iterator[None]:
    """Check all that is written in this process."""
    if not is_possible():
        yield
        return
    write, write_bytes, line = document.write, document.write_bytes, records._line
    echo = click.echo

    def checked_write(path: str, data: Mapping[str, Any]) -> None:
        if len(data.get("hosts", ())) <= 64:
            check_content("".join(json_text.pieces(data)).encode())
        write(path, data)

    def checked_write_bytes(path: str, content: bytes) -> None:
        if path == document.STANDARD_STREAM:
            check_said(bytes(content).decode())
        else:
            check_content(content)
        write_bytes(path, content)

    def checked_echo(message: Any = None, *others: Any, **options: Any) -> None:
        if isinstance(message, str) and not options.get("err"):
            check_said(message)
        echo(message, *others, **options)

    def checked_line(data: Mapping[str, Any]) -> bytes:
        check("autotune", data)
        return line(data)

    with (
        mock.patch.object(document, "write", checked_write),
        mock.patch.object(document, "write_bytes", checked_write_bytes),
        mock.patch.object(records, "_line", checked_line),
        mock.patch.object(click, "echo", checked_echo),
    ):
        yield
