"""The HTTP face of the hub: who may call, what they may say, and how the answer is written. No tracking is done here."""
