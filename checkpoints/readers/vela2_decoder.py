"""Packages of the Vela 2.0 decoder members (Vela 2.0 format, sections 2 and 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checkpoints.files import PackageError, file_digests
from checkpoints.guards import MANIFEST, check_sums
from checkpoints.readers.calibration import read_calibration
from checkpoints.readers.causal import INDEX, weight_files
from checkpoints.readers.reading import Members, Reading, is_integer, read_backbone
from checkpoints.readers.vela2 import FORMAT_VERSION, SMALL, fit_option, scan_option
from checkpoints.weights import TensorFile
from vela_jax.families.vela2.decoder_layout import SpanLayout
from vela_jax.families.vela2.model import FAMILY
from vela_jax.families.vela2.spec import DecoderSpec
from vela_jax.heads.spans import SpanConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checkpoints.files import PackageFolder

DECODER: Final = "vela2-decoder"
BACKBONE: Final = "qwen3_5_text"
BROAD: Final = "broad_head.safetensors"
DOWNLOAD_PATTERNS: Final = (INDEX, "model-*-of-*.safetensors", BROAD)
_MOST: Final = 1 << 16  # width of a head, and places of its labels
_DEFAULT_SPAN: Final = {"d": 256, "slots": 64}
_DEFAULT_LAYOUT: Final = {"hybrid_rmax": 2048, "window": 1800, "stride": 1536}


def detect(config: Mapping[str, Any]) -> bool:
    """True for a package of a decoder member."""
    version = config.get("format_version")
    return config.get("model_type") == DECODER and is_integer(version) and version == FORMAT_VERSION


def read(folder: PackageFolder, config: Mapping[str, Any], options: Mapping[str, Any]) -> Reading:
    """Read a detected package. Raises PackageError or ConfigError naming the file and the fault."""
    named = (*SMALL, INDEX)
    folder.require(named)
    check_sums(folder, file_digests(folder, named))  # what is read here must be what was released
    members = Members("config.json", config)
    text = members.section("backbone_config")
    if text is None:
        members.fail("backbone_config", "an object")
    text.choice("model_type", (BACKBONE,), BACKBONE)
    backbone = read_backbone(BACKBONE, text.values)
    calibration = read_calibration(folder)
    span = _defaulted(members, "span_head", _DEFAULT_SPAN, _MOST)
    spec = DecoderSpec(
        head_dim=members.integer("head_dim", 1, _MOST),
        span_head=SpanConfig(span["d"], span["slots"]),
        broad_head=_broad(folder),
        spans=_layout(members),
        max_length=members.integer("max_length", 1, backbone.max_position_embeddings),
        calibration=calibration,
        max_scan_tokens=scan_option(options),
        fits_nouls=fit_option(options, calibration),
    )
    weights = (*weight_files(folder), *((BROAD,) if spec.broad_head else ()))
    return Reading(
        spec=spec,
        model_type=BACKBONE,
        backbone=backbone,
        weight_prefix=None,
        max_input_tokens=spec.max_length,
        files=(*named, *weights, *((MANIFEST,) if folder.has(MANIFEST) else ())),
        identity_label=None,
        identity_files=weights,
        family=FAMILY,
    )


def _defaulted(members: Members, key: str, defaults: Mapping[str, int], most: int | None = None) -> dict[str, int]:
    """The integers of an object of which each may be left out."""
    section = members.section(key)
    given = {} if section is None else {name: value for name, value in section.values.items() if value is not None}
    values = Members(f"config.json: {key}", {**defaults, **given})
    return {name: values.integer(name, 1, most) for name in defaults}


def _layout(members: Members) -> SpanLayout:
    """How long span targets are read: windows begin where a target is no longer repeated whole."""
    sizes = _defaulted(members, "span_layout", _DEFAULT_LAYOUT)
    section = members.section("span_layout")
    above = None if section is None else section.values.get("window_above")
    if section is not None and above is not None and above != sizes["hybrid_rmax"]:
        section.fail("window_above", f"equal to hybrid_rmax ({sizes['hybrid_rmax']})")
    return SpanLayout(sizes["hybrid_rmax"], sizes["window"], sizes["stride"])


def _broad(folder: PackageFolder) -> SpanConfig | None:
    """The sizes of the second span head, as its tensors have them."""
    if not folder.has(BROAD):
        return None
    tensors = TensorFile.open(folder, BROAD).tensors
    sizes = []
    for name in ("span_broad.K.weight", "span_broad.slot.weight"):
        shape = tensors[name].shape if name in tensors else ()
        if len(shape) != 2:
            raise PackageError(f"{BROAD}: {name} must be a matrix, found the shape {list(shape)}: fetch the file again")
        sizes.append(shape[0])
    return SpanConfig(*sizes)
