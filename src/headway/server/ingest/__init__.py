"""Takes reports in: the hot path of the server, from the bytes of a connection to the hub."""
