"""Measurement of hosts: host lists, SSH, and the tools that measure pairs of hosts.

This package knows no file of plink's, and imports nothing else of plink.
"""
