"""Tests of the heads."""
