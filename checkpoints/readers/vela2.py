"""Packages of Vela 2.0: the encoder member (Vela 2.0 format, sections 2 and 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checkpoints.files import PackageError, file_digests
from checkpoints.guards import MANIFEST, SUMS, check_sums
from checkpoints.readers.calibration import CALIBRATION, read_calibration
from checkpoints.readers.reading import Members, Reading, is_integer, read_backbone
from vela_jax.families.vela2.encoder_layout import MARKERS, EncoderIds
from vela_jax.families.vela2.model import FAMILY
from vela_jax.families.vela2.spec import EncoderSpec
from vela_jax.heads.markers import MarkerConfig, MarkerReadout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checkpoints.files import PackageFolder
    from vela_jax.families.vela2.calibration import Calibration

ENCODER: Final = "vela2-unified"
WEIGHTS: Final = "model.safetensors"
DOWNLOAD_PATTERNS: Final = ("config.json", CALIBRATION, "tokenizer.json", WEIGHTS, SUMS, MANIFEST)
FORMAT_VERSION: Final = 1
ENCODERS: Final = ("bert", "modernbert")
"""What the encoder may be; packages that do not say have the second, as released."""
SMALL: Final = ("config.json", CALIBRATION, "tokenizer.json")
"""What every member has beside its weights."""
_MOST_PROJECTED: Final = 1 << 16


def detect(config: Mapping[str, Any]) -> bool:
    """True for a package of the encoder member."""
    version = config.get("format_version")
    return config.get("model_type") == ENCODER and is_integer(version) and version == FORMAT_VERSION


def read(folder: PackageFolder, config: Mapping[str, Any], options: Mapping[str, Any]) -> Reading:
    """Read a detected package. Raises PackageError or ConfigError naming the file and the fault."""
    folder.require((*SMALL, WEIGHTS))
    check_sums(folder, file_digests(folder, SMALL))  # what is read here must be what was released
    members = Members("config.json", config)
    encoder = members.section("encoder_config")
    if encoder is None:
        members.fail("encoder_config", "an object")
    model_type = encoder.choice("model_type", ENCODERS, "modernbert")
    backbone = read_backbone(model_type, encoder.values)
    calibration = read_calibration(folder)
    spec = EncoderSpec(
        head=MarkerConfig(
            backbone.hidden_size,
            members.integer("proj_dim", 1, _MOST_PROJECTED),
            MarkerReadout(members.choice("readout", tuple(str(each) for each in MarkerReadout))),
        ),
        special=_special(members, backbone.vocab_size),
        max_length=members.integer("max_length", 1, backbone.max_position_embeddings),
        window_overlap=members.integer("window_overlap", 0),
        calibration=calibration,
        max_scan_tokens=scan_option(options),
        fits_nouls=fit_option(options, calibration),
    )
    return Reading(
        spec=spec,
        model_type=model_type,
        backbone=backbone,
        weight_prefix=None,
        max_input_tokens=spec.max_length,
        files=(*SMALL, WEIGHTS, *((MANIFEST,) if folder.has(MANIFEST) else ())),
        identity_label=None,
        identity_files=(WEIGHTS,),
        family=FAMILY,
        hidden_tokens=frozenset(MARKERS),
    )


def _special(members: Members, vocab_size: int) -> EncoderIds:
    named = members.section("marker_ids")
    if named is None or set(named.values) != set(MARKERS):
        members.fail("marker_ids", f"an object of ids that names exactly {', '.join(MARKERS)}")
    ids = {name: named.integer(name, 0, vocab_size - 1) for name in MARKERS}
    if len(set(ids.values())) != len(ids):
        members.fail("marker_ids", "an object of different ids")
    bos, eos = (members.integer(f"{name}_token_id", 0, vocab_size - 1) for name in ("bos", "eos"))
    return EncoderIds(bos, eos, ids)


def scan_option(options: Mapping[str, Any]) -> int | None:
    """The option `max_scan_tokens`."""
    value = options.get("max_scan_tokens")
    if value is not None and (not is_integer(value) or value < 1):
        raise PackageError(f"option max_scan_tokens must be an integer of at least 1, found {value!r}")
    return value


def fit_option(options: Mapping[str, Any], calibration: Calibration) -> bool:
    """The option `noul_calibration`, else what the package says."""
    value = options.get("noul_calibration")
    if value is not None and not isinstance(value, bool):
        raise PackageError(f"option noul_calibration must be true or false, found {value!r}")
    if value is None:
        return calibration.noul is not None and calibration.noul.default
    return value
