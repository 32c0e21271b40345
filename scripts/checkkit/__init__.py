"""What `scripts/check sizes` counts: modules, lines, and the files that a reader walks through."""
