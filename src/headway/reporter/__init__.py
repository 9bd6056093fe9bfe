"""What runs in the training process: the standard library only, one thread, never in the way of a step."""
