"""From a state as it came to the request that a family plans: media read, references replaced, what cannot be judged.

Source: System One semantics, sections 3.3, 5.2, 6.7 and 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import UNSET, UnsetType

from vela_jax.contract import InputRefused, InvalidRequest
from vela_jax.surfaces.card import Description
from vela_jax.surfaces.decisions import DecisionsOptions, Entry
from vela_jax.surfaces.requests import DecisionsRequest, Image, Video
from vela_jax.surfaces.shown import kind_of, shown, shown_name
from vela_jax.systemone.assets import Asset
from vela_jax.systemone.data_urls import read_image_url, read_video_url
from vela_jax.systemone.references import References, Uses
from vela_jax.systemone.standard import leading

ROLES: Final = ("user", "context", "answer")
_LISTS: Final = ("choices", "labels", "levels")


@dataclass(frozen=True, slots=True)
class Failure:
    """A question that fails before any family looks at it: `invalid_question`, with its reason."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """A request for a family, and the questions that fail whatever it answers to their remains."""

    request: DecisionsRequest
    failures: dict[str, Failure]


@dataclass(slots=True)
class Resolver:
    """Resolves the states of one request against the card of its model; `used` gathers the references they use."""

    description: Description
    assets: Mapping[str, Asset]
    standard: bool = False  # whether media may stand in front of the state, as the public standard allows
    used: set[str] = field(default_factory=set)
    _references: References = field(init=False)
    _kinds: dict[str, str] = field(init=False)
    _media: dict[str, Image | Video] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._references = References(self.assets)
        self._kinds = {reference: asset.kind for reference, asset in self.assets.items()}

    def resolve(self, entry: Entry, options: DecisionsOptions) -> Resolved:
        """Resolve one state. Raises InvalidRequest, and InputRefused for its images, videos and assets."""
        front, state = leading(entry.state, self._kinds) if self.standard else ([], entry.state)
        uses = Uses(self._kinds, {"image": len(entry.images), "video": len(entry.videos)})
        for reference in front:
            uses(reference)
        state = self._references.replace(state, uses)
        in_state = uses.take()
        self.used.update(in_state)
        questions: dict[str, Any] = {}
        failures: dict[str, Failure] = {}
        of_questions: dict[str, list[str]] = {}
        for key, question in entry.questions.items():
            failure = self._judge(question)
            if failure is not None:
                failures[key], questions[key] = failure, {"type": question["type"]}
                continue
            questions[key] = _replace_in_question(question, self._references, uses)
            of_questions[key] = uses.take()
            self.used.update(of_questions[key])
        images, videos = self._read_media(entry, in_state)
        request = DecisionsRequest(
            state=state,
            questions=questions,
            roles=read_roles(entry.roles, state),
            images=images,
            videos=videos,
            question_images={
                key: tuple(self._images(references)) for key, references in of_questions.items() if references
            },
            options=options,
        )
        return Resolved(request, failures)

    def check_used(self) -> None:
        """Refuse a request with an asset that no state or question uses."""
        unused = [reference for reference in self.assets if reference not in self.used]
        if unused:
            raise InvalidRequest(f"assets: nothing refers to {shown(unused)}; every asset must be used")

    def _judge(self, question: Any) -> Failure | None:
        """Why a question fails for what the card says of media, if it does."""
        kind = question.get("type") if isinstance(question, dict) else None
        if not isinstance(kind, str):
            return None
        allowed = self.description.image_placements or ()
        places = [place for place, value in _texts(question) if self._references.are_in(value)]
        refused = next((place for place in places if place not in allowed), None)
        if refused is None:
            return None
        self._note_used(question)
        return Failure("question_images_unsupported", f"this model reads no images in the {refused} of a question")

    def _note_used(self, question: Mapping[str, Any]) -> None:
        """What a failing question refers to counts as used, and must be readable all the same."""
        uses = Uses(self._kinds, {})
        self._references.replace([value for _, value in _texts(question)], uses)
        self.used.update(uses.references)
        for reference in uses.references:
            self._read(reference)

    def _read_media(self, entry: Entry, references: Sequence[str]) -> tuple[tuple[Image, ...], tuple[Video, ...]]:
        self._require("image", bool(entry.images))
        self._require("video", bool(entry.videos))
        images = [read_image_url(url, f"images[{index}]") for index, url in enumerate(entry.images)]
        videos = [read_video_url(url, f"videos[{index}]") for index, url in enumerate(entry.videos)]
        used = [self._read(reference) for reference in references]
        images += [medium for medium in used if isinstance(medium, Image)]
        videos += [medium for medium in used if isinstance(medium, Video)]
        return tuple(images), tuple(videos)

    def _images(self, references: Sequence[str]) -> Iterator[Image]:
        for reference in references:
            medium = self._read(reference)
            if not isinstance(medium, Image):
                raise InputRefused(f"assets.{shown_name(reference)}: a question may hold images, not videos")
            yield medium

    def _read(self, reference: str) -> Image | Video:
        """Read an asset once, however often it is used."""
        if reference not in self._media:
            asset = self.assets[reference]
            self._require(asset.kind, True)
            self._media[reference] = asset.read()
        return self._media[reference]

    def _require(self, kind: str, needed: bool) -> None:
        if needed and kind not in (self.description.modalities or ()):
            raise InputRefused(f"{kind}s are not supported: this model reads {self.description.modalities or ['text']}")


def read_roles(roles: Any, state: Any) -> dict[str, str] | UnsetType | None:
    """The role of each key of an object state; UNSET and null pass through. Raises InvalidRequest."""
    if roles is UNSET or roles is None:
        return roles
    if not isinstance(roles, dict):
        raise InvalidRequest(f"roles must be an object of roles by state key, or null, got {kind_of(roles)}")
    if not isinstance(state, dict):
        raise InvalidRequest(f"roles needs an object as the state, got {kind_of(state)}")
    unknown = [key for key in roles if key not in state]
    if unknown:
        raise InvalidRequest(f"roles names {shown(unknown)}, which the state does not have")
    for key, role in roles.items():
        if role not in ROLES:
            raise InvalidRequest(f"roles.{shown_name(key)} must be one of {list(ROLES)}")
    return roles


def _texts(question: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What of a question may refer to images, with the name of the place; keys of options are no texts."""
    yield "instructions", question.get("instructions")
    yield "criteria", question.get("criteria")
    for name in _LISTS:
        yield "criteria", _descriptions(question.get(name))


def _descriptions(options: Any) -> Any:
    """Descriptions of the list form; a level is its own."""
    if not isinstance(options, list):
        return None
    return [option.get("description") if isinstance(option, dict) and "key" in option else option for option in options]


def _replace_in_question(question: Any, references: References, uses: Uses) -> Any:
    if not isinstance(question, dict):
        return question
    replaced = dict(question)
    for name in ("instructions", "criteria"):
        if name in question:
            replaced[name] = references.replace(question[name], uses)
    for name in _LISTS:
        if isinstance(question.get(name), list):
            replaced[name] = [_replace_in_option(option, references, uses) for option in question[name]]
    return replaced


def _replace_in_option(option: Any, references: References, uses: Uses) -> Any:
    if isinstance(option, dict) and "key" in option:
        return {name: value if name == "key" else references.replace(value, uses) for name, value in option.items()}
    return references.replace(option, uses)
