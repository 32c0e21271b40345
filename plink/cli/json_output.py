"""Option `--json`: standard output holds one JSON object and nothing else."""

from __future__ import annotations

from plink.base.errors import WrongUseError
from plink.files import document


def refuse_json_beside(output: str, what: str, *, as_json: bool) -> None:
    """Raise if both JSON and a result file would go to standard output.

    Raises:
        WrongUseError: both are asked for.
    """
    if as_json and output == document.STANDARD_STREAM:
        raise WrongUseError(
            f"--json and {what} both write to standard output", "give the file a name with -o"
        )
