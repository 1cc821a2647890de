"""On a node: chains of the harness over the engine that OpenRLHF trains."""
