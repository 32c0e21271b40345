"""Ansible's inventories: INI, YAML, and what `ansible-inventory --list` prints."""
