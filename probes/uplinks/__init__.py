"""Measurement of the rates between groups of hosts, all hosts of a group at once."""
