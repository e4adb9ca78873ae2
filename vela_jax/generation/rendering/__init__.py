"""From an OpenAI-shaped request to token ids and sampling parameters."""
