"""`python -m plink`, which works also where another program owns the name `plink`."""

from plink.cli import main

if __name__ == "__main__":
    main()
