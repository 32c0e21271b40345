"""Collectives by name, in whatever order each rank announces them (`docs/control.md`)."""
