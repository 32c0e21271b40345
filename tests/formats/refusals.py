"""What every reader of a hostile file owes: a value, or one clear sentence."""

from collections.abc import Callable

from plink.base.errors import WrongUseError


def refusal(call: Callable[[], object]) -> WrongUseError | None:
    """What `call` refused with, or None; any other error is the test's."""
    try:
        call()
    except WrongUseError as error:
        return error
    return None


def is_one_sentence(error: WrongUseError | None, source: str) -> bool:
    """Whether a refusal, if there was one, is a printable line that names the file."""
    if error is None:
        return True
    text = str(error)
    return text.startswith(f"{source}: ") and text.isprintable() and not text.endswith(".")
