"""Search for short rings through all hosts, with a proven lower bound."""
