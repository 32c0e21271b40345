"""Option `--json`: standard output holds one JSON object and nothing else."""

from __future__ import annotations

from typing import Any

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.text import json_text

with lazy_imports():
    from plink.formats import document, structs


def refuse_json_beside(output: str, what: str, *, as_json: bool) -> None:
    """Raise if both JSON and a result file would go to standard output.

    Raises:
        WrongUseError: both are asked for.
    """
    if as_json and output == document.STANDARD_STREAM:
        raise WrongUseError(
            f"--json and {what} both write to standard output", "give the file a name with -o"
        )


def print_json(output: Any) -> None:
    """Print an output (`plink.formats.structs.Output`) or a list of them as JSON, on many lines."""
    content = document.dump(structs.encode(output, with_arrays=True))
    document.write_bytes(document.STANDARD_STREAM, content)


def print_json_line(output: Any) -> None:
    """Print a verb's output as one line of JSON."""
    line = f"{json_text(structs.encode(output))}\n"
    document.write_bytes(document.STANDARD_STREAM, line.encode())
