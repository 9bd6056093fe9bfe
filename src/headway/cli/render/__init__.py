"""Draws jobs as text: pure functions of documents, a clock and a width. Nothing here does I/O."""
