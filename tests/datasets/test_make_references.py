"""make_references: its knobs turn what they say, and names look like names."""

import re

import numpy as np
import pytest

from coterie.datasets import make_references


def test_numbers_lie_around_those_of_their_entities(seed):
    made = make_references(random_state=seed % 2**31)
    assert made.data.shape == (len(made.target), 1)
    off = made.data[:, 0] - made.entity_values[made.target]
    assert abs(off.mean()) < 0.2
    assert off.std() == pytest.approx(1.0, abs=0.15)
    values = np.unique(made.entity_values)
    assert set(np.diff(values)) == {8.0}
    assert 35 <= len(values) <= 65  # every second is ambiguous
    assert len(set(made.contexts)) == 500
    exact = make_references(noise=0, p_ambiguous=0, random_state=0)
    assert exact.entity_values.tolist() == [8.0 * value for value in range(100)]
    assert exact.data[:, 0].tolist() == exact.entity_values[exact.target].tolist()


def test_a_context_begins_with_one_entity_and_goes_on_with_its_neighbours(seed):
    made = make_references(60, 90, 200, random_state=seed % 2**31)
    related = {frozenset(pair) for pair in made.relations.tolist()}
    assert len(related) == 90
    assert all(len(pair) == 2 for pair in related)
    for context in range(200):
        first, *others = made.target[made.contexts == context].tolist()
        assert len({first, *others}) == 1 + len(others)
        assert all(frozenset((first, other)) in related for other in others)


def test_the_probability_to_go_on_sets_the_sizes():
    sizes = [
        np.bincount(make_references(100, 1000, 400, p_continue=p, random_state=0).contexts).mean()
        for p in (0, 0.5, 1)
    ]
    assert sizes[0] == 1
    assert sizes[1] == pytest.approx(2, abs=0.2)
    assert sizes[2] == pytest.approx(21, abs=1)  # all neighbours


def test_ambiguous_relations_repeat_others_between_namesakes():
    def repeated(p):
        made = make_references(200, 200, 10, p_ambiguous_relation=p, random_state=1)
        kinds = np.sort(made.entity_values[made.relations], axis=1)
        return len(kinds) - len(np.unique(kinds, axis=0))

    assert repeated(0.0) < 20
    assert repeated(0.5) > 60
    # without namesakes there are none, and all relations are drawn as others
    assert len(make_references(20, 30, 5, p_ambiguous=0, p_ambiguous_relation=1).relations) == 30


def test_names_are_written_in_several_ways():
    made = make_references(300, 500, 2000, attribute="name", noise=0.1, random_state=0)
    assert made.feature_names == ["name"]
    full = re.compile(r"[A-Z][a-z]+( [A-Z][a-z]+)? [A-Z][a-z]+|[A-Z]\.( [A-Z]\.)? [A-Z][a-z]+")
    assert all(full.fullmatch(name) for name in made.data[:, 0])
    own = made.entity_values[made.target]
    surname = np.array(
        [name.split()[-1] == true.split()[-1] for name, true in zip(made.data[:, 0], own, strict=True)]
    )
    assert 1 - surname.mean() == pytest.approx(0.1, abs=0.03)
    assert all(name[0] == true[0] for name, true in zip(made.data[:, 0], own, strict=True))
    assert 0.4 < np.mean([". " in name for name in made.data[:, 0]]) < 0.6
    clean = make_references(50, 50, 100, attribute="name", noise=0, random_state=0)
    assert {name.split()[-1] for name in clean.data[:, 0]} <= {
        name.split()[-1] for name in clean.entity_values
    }


def test_some_names_are_common_and_each_entity_occurs_where_some_are_popular():
    made = make_references(
        2000, 3000, 6000, attribute="name", p_ambiguous=0, p_continue=0.5, popularity=0.6, random_state=0
    )
    assert len(set(made.entity_values)) == 2000
    surnames = np.unique([name.split()[-1] for name in made.entity_values], return_counts=True)[1]
    assert surnames.max() > 12 * np.median(surnames)
    records = np.bincount(made.target)
    assert records.min() >= 1
    assert len(records) == 2000
    assert records.max() > 20 * np.median(records)


@pytest.mark.parametrize("attribute", ["number", "name"])
def test_the_same_seed_makes_the_same(attribute):
    one, two, other = (make_references(30, 30, 50, attribute=attribute, random_state=s) for s in (3, 3, 4))
    assert one.data.tolist() == two.data.tolist()
    assert one.relations.tolist() == two.relations.tolist()
    assert one.data.tolist() != other.data.tolist()
    assert one.DESCR.startswith(
        f"{len(one.target)} records of {len(set(one.target))} entities in 50 contexts."
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"n_entities": 0}, "n_entities"),
        ({"n_contexts": 1.5}, "n_contexts must be a whole number"),
        ({"n_entities": 4, "n_relations": 7}, "n_relations=7, but only 6 different pairs of the 4 entities"),
        ({"attribute": "colour"}, "attribute must be 'number' or 'name'; got 'colour'"),
        ({"p_ambiguous": 1.5}, "p_ambiguous must be from 0 to 1; got 1.5"),
        ({"p_continue": np.nan}, "p_continue must be from 0 to 1; got nan"),
        ({"noise": -1}, "noise must be a number, at least 0; got -1"),
        ({"noise": 2, "attribute": "name"}, "noise must be from 0 to 1; got 2"),
        ({"popularity": np.inf}, "popularity must be a number, at least 0; got inf"),
    ],
)
def test_bad_numbers_are_refused_by_name(words, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make_references(**words)
