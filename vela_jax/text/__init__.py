"""From text to token ids: tokenizers, envelopes, windows, bounded reading."""
