"""Clusters out of what other programs measured."""
