"""The command `plink`, and `python -m plink`, which works where another program has that name.

Interrupts are taken care of before anything else is imported, which takes most of a short run.
"""

import os
import sys


def main() -> None:
    """Run the command line and exit."""
    try:
        from plink.base.lifetime import end_when_interrupted  # noqa: PLC0415

        end_when_interrupted()
    except KeyboardInterrupt:
        try:
            os.write(2, b"interrupted\n")
        finally:
            os._exit(130)
    from plink.cli import main as run_command_line  # noqa: PLC0415

    run_command_line()


def _give_way_to_the_installed_plink() -> None:
    """In a checkout, `python -m plink` finds the sources first, which are not built."""
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
