"""Keeps jobs and metric history. :mod:`headway.store.base` is the contract; each other module is one backend."""
