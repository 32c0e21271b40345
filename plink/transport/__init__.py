"""What ranks and servers meet and talk by; most of it is native."""
