"""JSON Schemas of plink's files and of what its verbs print with `--json` (`docs/schemas.md`)."""
