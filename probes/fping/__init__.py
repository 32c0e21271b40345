"""fping as a measuring tool."""
