"""The command that goes on where a run ended, as messages name it."""

from __future__ import annotations

from plink.files import document
from plink.measure.probing.limits import DEFAULT_TOOL


def resume_command(tool: str, output: str) -> str:
    """What goes on with a run of this tool that wrote `output`."""
    chosen = "" if tool == DEFAULT_TOOL else f" --tool {tool}"
    return f"{_resume(output)}{chosen}"


def resume_all_command(output: str) -> str:
    """What goes on with a run of all stages that wrote `output`."""
    return f"{_resume(output)} --all"


def _resume(output: str) -> str:
    return f"plink probe --resume {document.argument(document.label(output))}"
