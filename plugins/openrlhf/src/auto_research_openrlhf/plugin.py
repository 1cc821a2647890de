"""The backend `openrlhf` as a plugin."""
