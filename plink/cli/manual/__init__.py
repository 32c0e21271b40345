"""Manual pages (man 1) of plink's commands, from what `--help` says.

`python -m plink.cli.manual FOLDER` writes them: when plink is built, and for whoever packages it.
"""
