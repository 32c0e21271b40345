"""The command `plink`, and `python -m plink`, which works where another program has that name.

Interrupts are taken care of before anything else is imported, which takes most of a short run.
"""

import _signal  # type: ignore[import-not-found]  # `signal` would first import other modules
import os
import sys


def _say_and_end(_number: int, _frame: object) -> None:
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(130)


for _number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
    # What is ignored, as `nohup` has it, and what another language handles stays so.
    if _signal.getsignal(_number) in (_signal.default_int_handler, _signal.SIG_DFL):
        _signal.signal(_number, _say_and_end)


def main() -> None:
    """Run the command line and exit."""
    from plink.cli import main as run_command_line  # noqa: PLC0415

    run_command_line()


def _give_way_to_the_installed_plink() -> None:
    """Drop the checkout from the path: `python -m plink` would find its unbuilt sources first."""
    # `safe_path` is there since Python 3.11.
    if sys.flags.isolated or getattr(sys.flags, "safe_path", False):
        return
    if os.path.dirname(os.path.dirname(__file__)) != sys.path[0]:  # noqa: PTH120
        del sys.path[0]
        return
    from importlib.machinery import PathFinder  # noqa: PLC0415

    if PathFinder.find_spec("plink.solvers._native", [f"{sys.path[0]}/plink/solvers"]):
        return
    if PathFinder.find_spec("plink", sys.path[1:]) is None:
        sys.exit("error: plink is not installed, and this is its source\nhint: pip install .")
    program = "import sys; del sys.path[0]; from plink.__main__ import main; main()"
    os.execv(sys.executable, [sys.executable, "-c", program, *sys.argv[1:]])


if __name__ == "__main__":
    _give_way_to_the_installed_plink()
    main()
