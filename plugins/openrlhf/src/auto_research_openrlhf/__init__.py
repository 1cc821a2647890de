"""The cluster backend: OpenRLHF GRPO with the same methods, agent and ledger as everywhere."""
