"""JSON Schemas of plink's files and of the `--json` output of its verbs (`docs/schemas.md`)."""
