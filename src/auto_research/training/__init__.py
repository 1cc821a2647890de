"""Training a model with a method: objectives, supervised start, and backends."""
