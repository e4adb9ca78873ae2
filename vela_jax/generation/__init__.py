"""Text generation: token ids in, token ids out, and the way between them and chat."""
