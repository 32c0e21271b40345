"""The log of a tuned job: written, decided again, gone on from, told (`docs/autotune.md`)."""
