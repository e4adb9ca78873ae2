"""Personal data of all 17 kinds, none of it real, and sentences that carry it."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from bench.mini.texts.coined import KINDS, coined
from bench.mini.texts.gazetteer import names
from bench.mini.texts.slots import fill
from bench.mini.texts.split import Split, choose
from bench.mini.texts.tables import keyed, sentences

_UNLISTED_SHARE: Final = 0.55  # of names in training: the tables are short
_COINED_SHARE: Final = 0.35
_SLOT: Final = re.compile(r"\{([A-Z_]+)(:[a-z]+)?\}")
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
        value = (FORMS[match[2]] if match[2] else VALUES[match[1]])(rng, split)
        spans.append((match[1], len(text), len(text) + len(value)))
        text += value
        position = match.end()
    return Marked(text + pattern[position:], tuple(spans))


def _of(row: str) -> Callable[[random.Random, Split], str]:
    def value(rng: random.Random, split: Split) -> str:
        if split is Split.TRAIN and rng.random() < _UNLISTED_SHARE:
            known = names().get(row)
            if row in KINDS and (not known or rng.random() < _COINED_SHARE):
                return coined(row, rng)
            if known:
                return rng.choice(known)
        return rng.choice(choose(keyed("names")[row], split) or keyed("names")[row])

    return value


def _listed(row: str) -> Callable[[random.Random, Split], str]:
    """Of a closed set, which both sides share."""
    return lambda rng, _: rng.choice(keyed("names")[row])


def _digits(rng: random.Random, pattern: str) -> str:
    """The pattern with each # a digit and each @ a capital letter."""
    letters = "ABCDEFGHJKLMNPRSTUVWXYZ"
    return re.sub("[#@]", lambda match: str(rng.randrange(10)) if match[0] == "#" else rng.choice(letters), pattern)


def _pattern(row: str) -> Callable[[random.Random, Split], str]:
    return lambda rng, _: _digits(rng, rng.choice(keyed("names")[row]))


def _person(rng: random.Random, split: Split) -> str:
    given, family = _of("given")(rng, split), _of("family")(rng, split)
    middle = rng.choice(keyed("names")["initial"])
    forms = (f"{given} {family}",) * 6 + (given, given, family, f"{given[0]}. {family}", f"{family}, {given}")
    double = f"{_of('family')(rng, split)}-{family}"
    rare = (f"{given} {middle} {family}", f"{given} {double}", f"{family}, {given} {middle}")
    shouted = f"{given} {family}".upper() if rng.random() < 0.5 else f"{given} {family}".lower()
    return rng.choice((*forms, *rare, shouted))


def _plain(name: str) -> str:
    """A name as it stands in an address: small letters without accents, blanks and apostrophes."""
    return re.sub("[^a-z-]", "", unicodedata.normalize("NFKD", name.lower()))


def _email(rng: random.Random, split: Split) -> str:
    given, family = _plain(_of("given")(rng, split)), _plain(_of("family")(rng, split))
    full = (f"{given}.{family}", f"{given}{family}", f"{family}.{given}", f"{given}_{family}", f"{given}-{family}")
    short = (f"{given[0]}{family}", f"{given[0]}.{family}", given, f"{given}{family[0]}", f"{given}+{family[:3]}")
    number = rng.choice((rng.randrange(99), rng.randrange(1950, 2012)))
    numbered = (f"{family}_{number}", f"{given}{number}", f"{given}.{family}{number}")
    local = rng.choice((*full, *short, *numbered, rng.choice(keyed("names")["mailbox"])))
    return f"{local.title() if rng.random() < 0.06 else local}@{_host(rng, split)}"


def _host(rng: random.Random, split: Split) -> str:
    listed = rng.random() < 0.4
    return _of("domain")(rng, split) if listed else _of("site")(rng, split) + rng.choice(keyed("names")["tld"])


def _domain(rng: random.Random, split: Split) -> str:
    return (rng.choice(keyed("names")["sub"]) if rng.random() < 0.4 else "") + _host(rng, split)


def _organization(rng: random.Random, split: Split) -> str:
    family, place = _of("family")(rng, split), _of("gpe")(rng, split).removeprefix("the ")
    built = (
        f"{_of('orgword')(rng, split)} {rng.choice(keyed('names')['orgkind'])}",
        f"{_of('orgword')(rng, split)} {rng.choice(keyed('names')['orgkind'])}",
        f"{family} {rng.choice(keyed('names')['orgkind'])}",
        f"{family} & {_of('family')(rng, split)}",
        f"{rng.choice(('University', 'Bank', 'Museum', 'Port'))} of {place}",
    )
    return _of("organization")(rng, split) if rng.random() < 0.5 else rng.choice(built)


def _street(rng: random.Random, split: Split) -> str:
    number = str(rng.randrange(1, 2000) if rng.random() < 0.3 else rng.randrange(1, 200))
    number += rng.choice("ABCabc") if rng.random() < 0.1 else ""
    unit = _digits(rng, rng.choice(keyed("names")["unit"]))
    if rng.random() < 0.15:
        return f"{_of('abroad')(rng, split)} {number}"
    street = f"{number} {_of('street')(rng, split)} {rng.choice(keyed('names')['kind'])}"
    return rng.choice((*(street,) * 7, f"{street}, {unit}", f"{street} {unit}", f"{unit}, {street}"))


def _day(rng: random.Random, split: Split) -> str:
    day, year = rng.randrange(1, 29), rng.randrange(1940, 2036)
    month, name = rng.randrange(1, 13), _of("month")(rng, split)
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day % 10 if day not in (11, 12, 13) else 0, "th")
    weekday = rng.choice(keyed("names")["weekday"])
    forms = (
        f"{year}-{month:02}-{day:02}",
        f"{name} {day}, {year}",
        f"{day} {name} {year}",
        f"{month}/{day}/{year}",
        f"{month:02}/{day:02}/{year % 100:02}",
        f"{day}.{month}.{year}",
        f"{day:02}.{month:02}.{year}",
        f"{day:02}-{name[:3]}-{year}",
        f"{day} {name[:3]} {year}",
        f"{name[:3]} {day}, {year}",
        f"{name} {day}",
        f"{name} {day}{ending}",
        f"{day}{ending} {name}",
        f"the {day}{ending} of {name} {year}",
        f"{weekday}, {name} {day}",
        f"{weekday} {day} {name} {year}",
        f"{weekday} {rng.choice(('morning', 'afternoon', 'evening'))}",
        weekday,
        f"{year}/{month:02}/{day:02}",
    )
    return rng.choice(forms)


def _clock(rng: random.Random, _: Split) -> str:
    hour, minute, half = rng.randrange(1, 13), f"{rng.randrange(60):02}", rng.choice(("am", "pm"))
    forms = (f"{rng.randrange(24)}:{minute}", f"{rng.randrange(24):02}:{minute}", f"{hour}:{minute} {half.upper()}")
    return rng.choice((*forms, f"{hour} {half}", f"{hour}{half}", f"{hour}:{minute}{half}", f"{hour} o'clock"))


def _stamp(rng: random.Random, _: Split) -> str:
    day = f"{rng.randrange(1990, 2036)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
    time = f"{rng.randrange(24):02}:{rng.randrange(60):02}"
    second = f"{rng.randrange(60):02}"
    return rng.choice((f"{day} {time}", f"{day} {time}:{second}", f"{day}T{time}:{second}Z", f"{day}T{time}:{second}"))


def _date(rng: random.Random, split: Split) -> str:
    return rng.choice((_day, _day, _day, _clock, _stamp))(rng, split)


def _ip(rng: random.Random, _: Split) -> str:
    groups = [f"{rng.randrange(1, 65536):x}" for _ in range(8)]
    if rng.random() < 0.2:
        kept = rng.randrange(2, 6)
        return rng.choice((":".join(groups), f"2001:db8::{groups[0]}", f"fe80::{':'.join(groups[:kept])}"))
    first = rng.choice(("10.", "192.168.", "172.16.", "", "", ""))
    return first + ".".join(str(rng.randrange(1, 255)) for _ in range(4 - first.count(".")))


def _age(rng: random.Random, _: Split) -> str:
    if rng.random() < 0.9:
        return str(rng.randrange(1, 100))
    tens = rng.choice(("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty"))
    ones = rng.choice(("one", "two", "four", "five", "six", "seven", "nine"))
    return rng.choice((tens, f"{tens}-{ones}", "nineteen", "eleven"))


FORMS: Final[Mapping[str, Callable[[random.Random, Split], str]]] = MappingProxyType(
    {
        ":given": _of("given"),
        ":family": _of("family"),
        ":date": _day,
        ":time": _clock,
        ":stamp": _stamp,
    }
)
"""Narrower values, for slots such as `{PERSON:family}`."""
VALUES: Final[Mapping[str, Callable[[random.Random, Split], str]]] = MappingProxyType(
    {
        "AGE": _age,
        "CREDIT_CARD": _pattern("card"),
        "DATE_TIME": _date,
        "DOMAIN_NAME": _domain,
        "EMAIL_ADDRESS": _email,
        "GPE": _of("gpe"),
        "IBAN_CODE": _pattern("iban"),
        "IP_ADDRESS": _ip,
        "NRP": _of("nrp"),
        "ORGANIZATION": _organization,
        "PERSON": _person,
        "PHONE_NUMBER": _pattern("phone"),
        "STREET_ADDRESS": _street,
        "TITLE": _listed("title"),
        "US_DRIVER_LICENSE": _pattern("licence"),
        "US_SSN": _pattern("ssn"),
        "ZIP_CODE": _pattern("zip"),
    }
)
