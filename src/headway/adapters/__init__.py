"""Adapters: each listens at one framework's own extension point, and says what it hears in the run of this process.

An adapter imports its framework only inside functions, for it is loaded because the framework already is. None knows another.
"""
