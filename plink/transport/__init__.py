"""Transport between ranks and servers; most of it is native."""
