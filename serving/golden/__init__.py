"""The check before a model is ready: its readiness requests, twice, judged by recorded answers where there are any."""

from serving.golden.cases import Case, cases
from serving.golden.check import Ask, check, run_cases
from serving.golden.verdict import FAILED, PENDING, UNVERIFIED, Golden, GoldenCheckFailed

__all__ = [
    "FAILED",
    "PENDING",
    "UNVERIFIED",
    "Ask",
    "Case",
    "Golden",
    "GoldenCheckFailed",
    "cases",
    "check",
    "run_cases",
]
