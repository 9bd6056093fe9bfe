"""The one door for reports and lifecycle events: fold, store, broadcast."""
