"""Mathematics that several backbones share."""
