"""Hosts from other programs' inventories: the program is asked, or its file is read."""
