"""Labelled texts of the task models."""

import random
from collections import Counter

import pytest

from bench.mini.tasks.labelled import (
    DOMAIN_LABELS,
    DOMAINS,
    PII_LABELS,
    domain,
    domain_of,
    guard,
    personal,
    ranking,
    tag,
)
from bench.mini.tasks.relevance import Degree
from bench.mini.texts.personal import Marked
from bench.mini.texts.split import Split
from bench.mini.texts.topics import topics
from checkpoints.fixtures import configs


def test_labels_are_those_of_the_released_models() -> None:
    assert tuple(configs.DOMAIN) == DOMAIN_LABELS
    assert tuple(configs.PII) == PII_LABELS


def test_every_topic_of_a_domain_exists() -> None:
    known = {topic.key for split in Split for topic in topics(split)}
    assert set().union(*DOMAINS.values()) <= known
    assert {domain_of(topic) for split in Split for topic in topics(split)} == set(DOMAIN_LABELS)


@pytest.mark.parametrize("split", list(Split))
def test_labels_are_about_equally_frequent(split: Split) -> None:
    rng = random.Random(1)
    domains = Counter(domain(rng, split).label for _ in range(700))
    assert len(domains) == 14
    assert min(domains.values()) > 20
    assert 70 < sum(guard(rng, split).label for _ in range(200)) < 130


def test_tags_begin_and_go_on() -> None:
    marked = Marked("ask Tom Reed now", (("PERSON", 4, 12),))
    tags = tag(marked, [(0, 3), (4, 7), (8, 12), (13, 16)])
    assert [PII_LABELS[each] for each in tags] == ["O", "B-PERSON", "I-PERSON", "O"]


def test_some_texts_have_no_personal_data() -> None:
    rng = random.Random(3)
    assert 30 < sum(not personal(rng, Split.TRAIN).spans for _ in range(200)) < 95


def test_a_ranking_has_one_request() -> None:
    found = ranking(random.Random(5), Split.HELD)
    assert [each.degree for each in found] == [Degree.FULL, Degree.CLOSE, Degree.NONE]
    assert len({each.request for each in found}) == 1
    assert len({each.document for each in found}) == 3
