"""The routes, one module per subject. Each reads the request, asks the hub, and writes the answer; nothing is decided here."""
