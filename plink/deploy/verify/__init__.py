"""Does a launcher place the ranks as an order says? It is run, and every rank asked."""
