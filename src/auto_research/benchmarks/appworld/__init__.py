"""The benchmark appworld: worlds of apps, run by AppWorld's own engine in its own environment."""
