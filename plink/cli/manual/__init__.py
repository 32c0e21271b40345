"""Manual pages (man 1) of plink's commands, generated from their `--help`.

`python -m plink.cli.manual FOLDER` writes them: when plink is built, and for whoever packages it.
"""
