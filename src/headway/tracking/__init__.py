"""Folds reports and lifecycle events into jobs: state and event in, changes out; no I/O, no clock of its own."""
