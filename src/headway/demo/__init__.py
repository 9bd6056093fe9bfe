"""Real training jobs, small enough for any machine: a character-level language model in numpy on the standard library's sources.

``python -m headway.demo.train`` is a training script as a user would write one; :mod:`headway.demo.scenarios` says how it is
run; ``python -m headway.demo`` runs them all, each under the same runner as ``headway run``.
"""
