"""A router's signals as one request of typed questions: by phase over HTTP, and beside the model in PyTorch."""
