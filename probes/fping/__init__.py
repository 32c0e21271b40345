"""Measurement of round-trip times with fping."""
