"""Option `--json`, checks of output files, and printing of JSON on standard output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.text import json_text

with lazy_imports():
    from plink.formats import document, structs

Function = TypeVar("Function", bound=Callable[..., Any])


def json_option(text: str) -> Callable[[Function], Function]:
    """Return a decorator that adds `--json` with this help; the command receives `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=text)


def check_output(
    output: str | None,
    result_name: str,
    *inputs: str,
    as_json: bool = False,
    has_matrices: bool = False,
) -> None:
    """Raise WrongUseError if a result cannot be written, or would overwrite an input.

    Args:
        output: file to write, `-` for standard output; None for no file.
        result_name: what the message calls the result, such as `the cluster`.
        inputs: files that are read.
        as_json: whether JSON goes to standard output.
        has_matrices: whether the result has a binary form.
    """
    if output is None:
        return
    if as_json and output == document.STANDARD_STREAM:
        raise WrongUseError(
            f"--json and {result_name} both write to standard output",
            "give the file a name with -o",
        )
    document.check_writable(output, has_matrices=has_matrices)
    for source in inputs:
        document.refuse_same_file(source, output)


def print_json(output: Any) -> None:
    """Print an output (`plink.formats.structs.Output`) or a list of them as JSON, on many lines."""
    content = document.dump(structs.encode(output, with_arrays=True))
    document.write_bytes(document.STANDARD_STREAM, content)


def print_json_line(output: Any) -> None:
    """Print a verb's output as one line of JSON."""
    line = f"{json_text(structs.encode(output))}\n"
    document.write_bytes(document.STANDARD_STREAM, line.encode())
