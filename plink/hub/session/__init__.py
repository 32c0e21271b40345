"""Control messages between servers, workers and administrators, and who may send them."""
