"""The workshop: a small deterministic world with chains of related tasks, for training."""
