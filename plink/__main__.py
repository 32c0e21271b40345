"""The command `plink`, and `python -m plink`, which works where another program has that name.

Interrupts are taken care of before anything else is imported, which takes most of a short run.
"""

import os


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


if __name__ == "__main__":
    main()
