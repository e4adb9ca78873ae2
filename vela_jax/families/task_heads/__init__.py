"""Encoders with fixed heads: Vela 1.0 and compatible task models, embedders and rerankers."""
