"""The ``headway`` command: thin commands over the client and the runner, and pure functions that draw jobs."""
