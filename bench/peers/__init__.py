"""The same weights, texts and requests through this project and through its peers, interleaved in one run."""
