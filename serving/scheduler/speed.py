"""How many seconds a token takes on a model, learned from its forwards (runtime rules, section 3.1)."""

from __future__ import annotations

FIRST_GUESS = 2e-5
SMOOTHING = 0.1


class Speed:
    """Running estimate: the first sample replaces the guess, later ones are smoothed in."""

    def __init__(self) -> None:
        self.seconds_per_token = FIRST_GUESS
        self._sampled = False

    def learn(self, seconds: float, tokens: int) -> None:
        """Take in a forward of `tokens` unpadded tokens."""
        if tokens == 0:
            return
        sample = seconds / tokens
        if self._sampled:
            self.seconds_per_token += SMOOTHING * (sample - self.seconds_per_token)
        else:
            self.seconds_per_token = sample
            self._sampled = True
