"""Parsing of host lists, and the choice of hosts' addresses."""
