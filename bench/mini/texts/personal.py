"""Personal data of all 17 kinds, none of it real, and sentences that carry it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from bench.mini.texts.slots import fill
from bench.mini.texts.split import Split, choose
from bench.mini.texts.tables import keyed, sentences

_SLOT: Final = re.compile(r"\{([A-Z_]+)\}")
DESCRIPTIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "AGE": ("The age of a person", "How old somebody is"),
        "CREDIT_CARD": ("The number of a credit card", "A payment card number"),
        "DATE_TIME": ("A date or a time", "When something happened or will happen"),
        "DOMAIN_NAME": ("The domain of a web site", "An internet domain"),
        "EMAIL_ADDRESS": ("An email address", "Where mail is sent to"),
        "GPE": ("A country, city or state", "A geopolitical place"),
        "IBAN_CODE": ("An international bank account number", "An IBAN"),
        "IP_ADDRESS": ("The address of a computer in the internet", "An IP address"),
        "NRP": ("A nationality, religion or political group", "The group that somebody belongs to"),
        "ORGANIZATION": ("A company, agency or institution", "The name of an organization"),
        "PERSON": ("The name of a person", "Somebody's given or family name"),
        "PHONE_NUMBER": ("A telephone number", "A number to call"),
        "STREET_ADDRESS": ("A house number and street", "The street address of a home or office"),
        "TITLE": ("A form of address or academic title", "The title before a name"),
        "US_DRIVER_LICENSE": ("The number of a US driver's license", "A driving licence number"),
        "US_SSN": ("A US social security number", "A social security number"),
        "ZIP_CODE": ("A postal code", "The ZIP code of a place"),
    }
)


@dataclass(frozen=True, slots=True)
class Marked:
    """A text, and (label, start, end) of what it holds, in characters."""

    text: str
    spans: tuple[tuple[str, int, int], ...]


def carrier(rng: random.Random, split: Split) -> Marked:
    """A sentence with personal data, in a pattern of one side; now and then two sentences."""
    chosen = rng.choice(choose(sentences("carriers"), split))
    if rng.random() < 0.25:
        other = rng.choice(choose(sentences("clean"), split))
        chosen = f"{chosen} {other}" if rng.random() < 0.5 else f"{other} {chosen}"
    return _place(fill(chosen, rng, split), rng, split)


def clean(rng: random.Random, split: Split) -> Marked:
    """A sentence without personal data."""
    return Marked(fill(rng.choice(choose(sentences("clean"), split)), rng, split), ())


def _place(pattern: str, rng: random.Random, split: Split) -> Marked:
    text, spans, position = "", [], 0
    for match in _SLOT.finditer(pattern):
        text += pattern[position : match.start()]
        value = VALUES[match[1]](rng, split)
        spans.append((match[1], len(text), len(text) + len(value)))
        text += value
        position = match.end()
    return Marked(text + pattern[position:], tuple(spans))


def _of(row: str) -> Callable[[random.Random, Split], str]:
    return lambda rng, split: rng.choice(choose(keyed("names")[row], split) or keyed("names")[row])


def _digits(rng: random.Random, pattern: str) -> str:
    """The pattern with each # a digit and each @ a capital letter."""
    letters = "ABCDEFGHJKLMNPRSTUVWXYZ"
    return re.sub("[#@]", lambda match: str(rng.randrange(10)) if match[0] == "#" else rng.choice(letters), pattern)


def _one_of(*patterns: str) -> Callable[[random.Random, Split], str]:
    return lambda rng, _: _digits(rng, rng.choice(patterns))


def _person(rng: random.Random, split: Split) -> str:
    given, family = _of("given")(rng, split), _of("family")(rng, split)
    forms = (f"{given} {family}",) * 5 + (given, family, f"{given[0]}. {family}", f"{family}, {given}")
    return rng.choice(forms)


def _email(rng: random.Random, split: Split) -> str:
    given, family = _of("given")(rng, split).lower(), _of("family")(rng, split).lower().replace("'", "")
    local = rng.choice((f"{given}.{family}", f"{given[0]}{family}", given, f"{family}_{rng.randrange(99)}", "info"))
    return f"{local}@{_of('domain')(rng, split)}"


def _street(rng: random.Random, split: Split) -> str:
    number = rng.randrange(1, 2000) if rng.random() < 0.3 else rng.randrange(1, 200)
    street = f"{number} {_of('street')(rng, split)} {rng.choice(keyed('names')['kind'])}"
    return street + (f", Apt {rng.randrange(1, 40)}" if rng.random() < 0.1 else "")


def _date(rng: random.Random, split: Split) -> str:
    day, year = rng.randrange(1, 29), rng.randrange(1950, 2031)
    month, name = rng.randrange(1, 13), _of("month")(rng, split)
    time = f"{rng.randrange(24)}:{rng.randrange(60):02}"
    forms = (
        f"{year}-{month:02}-{day:02}",
        f"{name} {day}, {year}",
        f"{day} {name} {year}",
        f"{month}/{day}/{year}",
        f"{day}.{month}.{year}",
        f"{year}-{month:02}-{day:02} {time}",
        f"{name} {day}",
        time,
    )
    return rng.choice(forms)


def _ip(rng: random.Random, _: Split) -> str:
    if rng.random() < 0.12:
        return ":".join(f"{rng.randrange(1, 65536):x}" for _ in range(8))
    return ".".join(str(rng.randrange(1, 255)) for _ in range(4))


VALUES: Final[Mapping[str, Callable[[random.Random, Split], str]]] = MappingProxyType(
    {
        "AGE": lambda rng, _: str(rng.randrange(2, 99)),
        "CREDIT_CARD": _one_of("4### #### #### ####", "5###-####-####-####", "4###############", "3### ###### #####"),
        "DATE_TIME": _date,
        "DOMAIN_NAME": lambda rng, split: ("www." if rng.random() < 0.3 else "") + _of("domain")(rng, split),
        "EMAIL_ADDRESS": _email,
        "GPE": _of("gpe"),
        "IBAN_CODE": _one_of(
            "DE## #### #### #### #### ##", "GB##@@@@##############", "FR## #### #### #### #### #### ###"
        ),
        "IP_ADDRESS": _ip,
        "NRP": _of("nrp"),
        "ORGANIZATION": _of("organization"),
        "PERSON": _person,
        "PHONE_NUMBER": _one_of(
            "###-###-####", "(###) ###-####", "555-####", "+1 ### ### ####", "+44 20 #### ####", "0## #######"
        ),
        "STREET_ADDRESS": _street,
        "TITLE": _of("title"),
        "US_DRIVER_LICENSE": _one_of("@#######", "@@######", "@###-####-####"),
        "US_SSN": _one_of("###-##-####", "###-##-####", "#########"),
        "ZIP_CODE": _one_of("#####", "#####-####"),
    }
)
