"""Small tokenizers of the kinds that generators use."""

from __future__ import annotations

from typing import Final

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from vela_jax.generation.vocabulary import Vocabulary

END: Final = 256  # <|end|> of the byte-level one


def byte_characters() -> list[str]:
    """The character that stands for each byte, by the usual table."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    table = {byte: chr(byte) for byte in shown} | {byte: chr(256 + index) for index, byte in enumerate(hidden)}
    return [table[byte] for byte in range(256)]


def byte_level(*marks: str) -> Vocabulary:
    """The vocabulary of `byte_level_library`."""
    return Vocabulary(byte_level_library(*marks))


def byte_level_library(*marks: str) -> Tokenizer:
    """Ids 0 to 255 are bytes, 256 is the special <|end|>, then `marks`, which are not special."""
    library = Tokenizer(models.BPE({character: byte for byte, character in enumerate(byte_characters())}, []))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens([AddedToken("<|end|>", normalized=False, special=True)])
    library.add_tokens([AddedToken(mark, normalized=False, special=False) for mark in marks])
    return library


def byte_fallback(*words: str) -> Vocabulary:
    """The vocabulary of `byte_fallback_library`."""
    return Vocabulary(byte_fallback_library(*words))


def byte_fallback_library(*words: str) -> Tokenizer:
    """Ids 0 to 2 are <unk> <s> </s>, 3 to 258 bytes, then pieces with a leading space mark."""
    entries = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁"]
    entries += [chr(code) for code in range(0x21, 0x7F)]
    merges: list[tuple[str, str]] = []
    for word in words:
        grown = "▁"
        for character in word:
            merges.append((grown, character))
            grown += character
            entries.append(grown)
    vocabulary = {piece: index for index, piece in enumerate(dict.fromkeys(entries))}
    library = Tokenizer(models.BPE(vocabulary, list(dict.fromkeys(merges)), unk_token="<unk>", byte_fallback=True))
    library.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    library.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    library.add_special_tokens(["<unk>", "<s>", "</s>"])
    return library
