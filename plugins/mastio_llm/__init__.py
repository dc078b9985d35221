"""Dispatches LLM calls to the configured providers, in the dialects of OpenAI, Anthropic and Gemini."""
