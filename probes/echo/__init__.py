"""The echo tool: our own small UDP agent on every host."""
