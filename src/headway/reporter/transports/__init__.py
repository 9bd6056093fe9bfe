"""Ways for a report to leave the process: over HTTP, or into a spool file."""
