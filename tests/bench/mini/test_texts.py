"""The texts that examples are written from."""

import random
import re
from pathlib import Path

import pytest

from bench.mini.texts import relations
from bench.mini.texts.classes import scales, schemes
from bench.mini.texts.coined import KINDS, coined
from bench.mini.texts.dictionary import Entry, entries
from bench.mini.texts.gazetteer import names
from bench.mini.texts.lexicon import sorts
from bench.mini.texts.personal import DESCRIPTIONS, VALUES, carrier, clean
from bench.mini.texts.slots import fill, fill_all
from bench.mini.texts.sources import SOURCES
from bench.mini.texts.split import Split, side
from bench.mini.texts.tables import keyed
from bench.mini.texts.topics import about, topics


def test_there_are_many_topics_and_none_is_on_both_sides() -> None:
    train, held = ({topic.key for topic in topics(split)} for split in Split)
    assert len(train | held) > 150
    assert not train & held
    assert len(held) > 20


def test_every_topic_and_option_can_be_written_about() -> None:
    for split in Split:
        for topic in topics(split):
            assert len(topic.descriptions) >= 1
            assert min(len(topic.acts), len(topic.things)) >= 2
        for scheme in (*schemes(), *scales()):
            assert all(option.of(split) for option in scheme.options), scheme.wordings


def test_a_pattern_is_trained_on_or_held_out() -> None:
    for scheme in (*schemes(), *scales()):
        for option in scheme.options:
            assert not set(option.of(Split.TRAIN)) & set(option.of(Split.HELD))


def test_names_of_a_scheme_are_distinct() -> None:
    for scheme in (*schemes(), *scales()):
        firsts = [option.names[0] for option in scheme.options]
        assert len(set(firsts)) == len(firsts)


def test_equal_seeds_write_equal_texts() -> None:
    topic = topics(Split.TRAIN)[0]
    assert about(topic, random.Random(3), Split.TRAIN) == about(topic, random.Random(3), Split.TRAIN)


def test_no_slot_is_left_open() -> None:
    rng = random.Random(1)
    for split in Split:
        for scheme in (*schemes(), *scales()):
            for option in scheme.options:
                for pattern in option.patterns:
                    assert not re.search(
                        r"\{(product|day|month|number|amount|city|person|place|hour)\}", fill(pattern, rng, split)
                    )


def test_equal_slots_take_equal_values_in_several_patterns() -> None:
    first, second = fill_all(["{city}", "{city}"], random.Random(2), Split.TRAIN)
    assert first == second


@pytest.mark.parametrize("split", list(Split))
def test_marks_point_at_their_values(split: Split) -> None:
    rng = random.Random(4)
    seen = set()
    for _ in range(400):
        marked = carrier(rng, split)
        for label, start, end in marked.spans:
            seen.add(label)
            assert marked.text[start:end] == marked.text[start:end].strip()
            assert start < end <= len(marked.text)
    assert seen == set(VALUES) if split is Split.TRAIN else seen
    assert set(DESCRIPTIONS) == set(VALUES)
    assert not clean(rng, split).spans


def test_a_sort_has_words_on_both_sides() -> None:
    for sort in sorts():
        assert sort.of(Split.TRAIN)
        assert sort.of(Split.HELD)
        assert sort.names
        assert " = " not in "".join(sort.asked)


def test_sides_do_not_change() -> None:
    assert side("baking") is Split.HELD
    assert side("cooking") is Split.TRAIN


def test_the_dictionary_is_read_as_its_files_hold_it(tmp_path: Path) -> None:
    (tmp_path / "data.noun").write_text(
        '  1 licence text\n00001740 03 n 02 entity 0 living_thing(p) 0 000 | what is; "an example of it"  \n'
    )
    assert list(entries(tmp_path)) == [Entry(("entity", "living thing"), "what is", ("an example of it",))]


def test_a_missing_dictionary_has_no_entries(tmp_path: Path) -> None:
    assert list(entries(tmp_path)) == []


def test_every_source_names_its_licence() -> None:
    assert all(source.licence for source in SOURCES)


def synset(offset: int, source: str, words: str, pointers: str, gloss: str, part: str = "n") -> str:
    """A line of a data file of the dictionary."""
    named = " ".join(f"{word} 0" for word in words.split())
    found = pointers.split()
    pairs = " ".join(f"{symbol} {target} n 0000" for symbol, target in zip(found[::2], found[1::2], strict=True))
    return f"{offset:08} {source} {part} {len(words.split()):02x} {named} {len(found) // 2:03} {pairs} | {gloss}  \n"


def test_a_thing_is_a_sort_of_what_it_points_at_and_belongs_to_its_field(tmp_path: Path) -> None:
    lines = [
        synset(10, "05", "animal", "", "a living thing"),
        synset(11, "09", "zoology", "", "what animals are studied in"),
        *(synset(20 + place, "05", f"cat{place}", "@ 00000010 ;c 00000011", "(zoology) a cat") for place in range(6)),
        synset(30, "15", "Paris", "@i 00000010", "a city"),
    ]
    (tmp_path / "data.noun").write_text("  1 licence text\n" + "".join(lines))
    made = relations.sorts(tmp_path)
    assert [(each.thing.words, each.kind.words) for each in made] == [((f"cat{n}",), ("animal",)) for n in range(6)]
    (field,) = relations.fields(tmp_path)
    assert field.kind.words == ("zoology",)
    assert [entry.gloss for entry in field.meanings] == ["a cat"] * 6


def test_the_dictionary_names_people_places_and_peoples(tmp_path: Path) -> None:
    lines = [
        synset(10, "18", "Einstein Albert_Einstein", "@i 00000001", "a physicist"),
        synset(11, "18", "painter", "@ 00000001", "an artist"),
        synset(12, "15", "Lake_Superior Paris 10_Downing_Street", "@i 00000001", "a place"),
    ]
    (tmp_path / "data.noun").write_text("".join(lines))
    (tmp_path / "data.adj").write_text(
        synset(1, "01", "Belgian solar", "", "of something", "a") + synset(2, "00", "Grim", "", "of no people", "a")
    )
    found = names(tmp_path)
    assert found == {
        "given": ("Albert",),
        "family": ("Einstein",),
        "gpe": ("Lake Superior", "Paris"),
        "nrp": ("Belgian",),
    }


def test_without_the_dictionary_there_are_no_further_names_and_sorts(tmp_path: Path) -> None:
    assert not any(names(tmp_path).values())
    assert not relations.sorts(tmp_path)
    assert not relations.fields(tmp_path)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_coined_names_are_one_word_in_the_case_of_their_kind(kind: str) -> None:
    rng = random.Random(3)
    for name in (coined(kind, rng) for _ in range(200)):
        assert re.fullmatch(r"[\w-]+", name)
        assert name[0].isupper() == (kind != "site")


def test_held_out_names_are_those_of_the_tables() -> None:
    rng = random.Random(7)
    listed = {*keyed("names")["given"], *keyed("names")["family"]}
    held, train = (
        {
            marked.text[start:end]
            for marked in (carrier(rng, split) for _ in range(1500))
            for label, start, end in marked.spans
            if label == "PERSON" and re.fullmatch(r"[A-Z]\w+", marked.text[start:end])
        }
        for split in (Split.HELD, Split.TRAIN)
    )
    known = {name.upper() for name in listed}
    assert held
    assert all(name.upper() in known for name in held)
    assert any(name.upper() not in known for name in train)
