"""The relay of ``headway run``: takes its processes' reports at once, keeps them on disk, and hands them on to the server."""
