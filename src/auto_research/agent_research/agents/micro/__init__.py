"""The agent `micro`: a tiny language model of our own, which can be trained on a laptop."""
