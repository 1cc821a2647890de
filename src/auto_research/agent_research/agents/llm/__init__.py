"""The agent `llm`: a language model behind any OpenAI-compatible server writes and runs code."""
