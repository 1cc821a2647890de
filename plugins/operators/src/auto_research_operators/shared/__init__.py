"""What several papers need: paired evidence, a regression gate, a bandit, ways to propose."""
