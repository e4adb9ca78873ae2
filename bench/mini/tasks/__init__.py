"""Labelled requests of every question type, drawn from the texts."""
