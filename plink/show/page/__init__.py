"""Report page in HTML: figures, tables and text about a cluster, its orders, or a run."""
