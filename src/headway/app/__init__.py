"""The composition root: settings in, a running server out. ``python -m headway.app`` is the server process.

Everything is wired in :mod:`headway.app.serving` and nowhere else: folders, keys, store, hub, HTTP face.
"""
