"""From numbers to a verdict: pure functions of (points, now), with no I/O, no clock of their own and no dependency."""
