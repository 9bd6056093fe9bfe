"""Which conditions stand: what insight finds in a job's numbers, and what time, its ranks and its restarts tell besides."""
