"""One file a group of endpoints: decode, call, encode."""
