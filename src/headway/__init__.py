"""Headway tells whether a training job is making headway."""
