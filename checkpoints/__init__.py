"""Model packages on disk: found, verified, read into param trees, written for tests."""
