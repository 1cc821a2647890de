"""The search over methods: a direction in words, a space, two arms, and a claim on test."""
