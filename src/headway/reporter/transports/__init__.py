"""Ways for a report to leave the process: over HTTP, into a spool file, or nowhere."""
