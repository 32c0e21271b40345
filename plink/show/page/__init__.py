"""A report: figures, tables and words about one cluster and its orders, as a page of HTML."""
