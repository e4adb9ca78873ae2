"""Tests of the small models."""
