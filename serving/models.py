"""The served models by name, and what became of each (HTTP contract, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from serving.config import ModelEntry
from serving.errors import ErrorCode, RequestFailed
from serving.golden import PENDING, Golden
from serving.live import LiveModel
from serving.loaded import LoadedModel
from serving.readiness import Status, process_status
from vela_jax.surfaces.shown import NAME_SHOWN

if TYPE_CHECKING:
    from serving.generation import Generator
    from serving.text_side import TextSide


class ServedModel:
    """One configured entry. The loader's thread writes the members, the event loop reads them."""

    def __init__(self, entry: ModelEntry) -> None:
        self.entry = entry
        self.status = Status()
        self.golden: Golden = PENDING
        self.loaded: LoadedModel | None = None
        self.live: LiveModel | None = None  # set before the status says ready
        self.text: TextSide | None = None  # a generator's, as soon as its package is read
        self.generator: Generator | None = None  # a generator's, set before the status says ready

    @property
    def id(self) -> str:
        """Served name: the configured one, else the package's, else (before the load) the artifact."""
        if self.entry.name is None and self.loaded is not None:
            return self.loaded.provenance.model_id
        return self.entry.label

    def names(self) -> Iterator[str | None]:
        """Every name that finds the model."""
        yield self.entry.name
        yield from self.entry.artifact_names
        if self.loaded is not None:
            yield self.loaded.provenance.model_id
            yield self.loaded.provenance.repo

    def require_live(self) -> LiveModel:
        """The running model. Raises RequestFailed `not_ready` that names the state."""
        if self.live is None or not self.status.is_ready:
            reason = f": {self.status.reason}" if self.status.reason else ""
            raise RequestFailed(ErrorCode.NOT_READY, f"model {self.id} is {self.status.state}{reason}")
        return self.live

    def require_generator(self) -> Generator:
        """What generates. Raises RequestFailed: `unsupported_surface` for a model that writes no text."""
        self.require_live()
        if self.generator is None:
            raise RequestFailed(ErrorCode.UNSUPPORTED_SURFACE, f"model {self.id} does not generate text")
        return self.generator

    def require_text(self) -> TextSide:
        """What renders and derenders. Raises RequestFailed: `unsupported_surface` for a model that writes no text."""
        if self.text is not None:
            return self.text
        if self.live is None:
            self.require_live()
        raise RequestFailed(ErrorCode.UNSUPPORTED_SURFACE, f"model {self.id} does not generate text")


class ModelTable:
    """The served models in configuration order; at least one."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self.models = tuple(models)

    @property
    def single(self) -> ServedModel | None:
        """The model, when exactly one is served."""
        return self.models[0] if len(self.models) == 1 else None

    @property
    def status(self) -> Status:
        """State of the process."""
        return process_status([(model.id, model.status) for model in self.models])

    def find(self, name: object) -> ServedModel:
        """The model that a request's `model` member means; None stands for an absent member.

        Raises RequestFailed: `invalid_request` when the name is needed or no string, else `model_not_found`.
        """
        if name is None:
            return self._find_unnamed()
        if not isinstance(name, str):
            raise RequestFailed(ErrorCode.INVALID_REQUEST, f"model must be a string; {self._served()}")
        found = self._match(name)
        if found is None:
            wanted = name[:NAME_SHOWN]
            raise RequestFailed(ErrorCode.MODEL_NOT_FOUND, f"model {wanted!r} is not served; {self._served()}")
        return found

    def find_generator(self, name: str | None) -> ServedModel:
        """The model that renders and derenders under a name; without one, the only model that can.

        Raises RequestFailed as `find` does.
        """
        if name is not None or self.single is not None:
            return self.find(name)
        generators = [model for model in self.models if model.text is not None]
        return generators[0] if len(generators) == 1 else self._find_unnamed()

    def _match(self, name: str) -> ServedModel | None:
        """A served name wins over whatever else another model answers to."""
        single = self.single
        if single is not None and single.entry.name is None and single.loaded is None:
            return single  # its package may bring any name
        by_id = (model for model in self.models if model.id == name)
        by_any_name = (model for model in self.models if name in model.names())
        return next(by_id, None) or next(by_any_name, None)

    def _find_unnamed(self) -> ServedModel:
        if self.single is None:
            raise RequestFailed(
                ErrorCode.INVALID_REQUEST, f"model is required: several models are served; {self._served()}"
            )
        return self.single

    def _served(self) -> str:
        return f"served are {sorted(model.id for model in self.models)}"
