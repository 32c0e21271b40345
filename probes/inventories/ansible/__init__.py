"""Ansible inventories: INI, YAML, and the output of `ansible-inventory --list`."""
