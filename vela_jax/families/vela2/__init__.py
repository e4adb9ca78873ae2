"""Vela 2.0: schema-conditioned decision models."""
