"""From generated token ids back to OpenAI-shaped answers."""
