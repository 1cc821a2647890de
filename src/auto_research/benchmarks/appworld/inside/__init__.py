"""What runs inside AppWorld's own environment: imports appworld and the standard library only."""
