"""One module a measuring tool: what it takes of a run's options, and how it is called."""
