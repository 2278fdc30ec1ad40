"""Draws of the benchmark of labels and pairs are what they say; no figure is taken here."""

import numpy as np
import pytest

from benchmarks.discover import experiments
from benchmarks.papers import ch17, ch17_tables, ch17_tracks
from coterie import Constraints, PairwiseLogisticRegression
from coterie.semisupervised import track_rows
from tests.marks import outvoted

pytestmark = outvoted


def test_the_experiment_is_found_and_its_parts_are_none():
    found = experiments()
    assert "papers ch17" in found
    assert not {"papers ch17_tables", "papers ch17_tracks"} & set(found)


def test_the_spiral_is_that_of_the_specification():
    X, truth, y, known = ch17.spiral(3)
    assert np.bincount(truth).tolist() == [201, 199]
    assert X.std() == pytest.approx(1.0)
    told = np.flatnonzero(y >= 0)
    assert (y[told] == truth[told]).all()
    assert np.bincount(y[told]).tolist() == [40, 40]
    inner = np.where(told < 201, told / 201, (told - 201) / 199)
    assert inner.max() < 0.75
    assert not known.violations(truth)
    assert len(known.must_link) == known.n_pairs == 4
    again = ch17.spiral(3)
    assert (again[0] == X).all()
    assert again[3] == known


def test_digits_have_two_labels_a_class_and_as_many_pairs_as_the_trial():
    case = ch17_tracks.digits(1)
    assert case.X.shape == (900, 64)
    assert len(case.test) == len(case.truth) == 897
    assert np.bincount(case.y[case.y >= 0]).tolist() == [2] * 10
    assert case.known.n_pairs == 200
    assert len(case.known.must_link) >= 100


def test_tracks_follow_each_other_and_no_digit_is_seen_twice_at_once():
    film = ch17_tracks.film(0)
    assert film.X.shape == (63 * 6, 64)
    assert (np.diff(film.times[::6]) > 0).all()
    assert set(film.digits) == set(range(6))
    apart = track_rows(film.X, film.tracks, film.times).constraints.cannot_link - len(film.X)
    assert len(apart) > 63
    assert (film.digits[apart[:, 0]] != film.digits[apart[:, 1]]).all()
    half = ch17_tracks.first_tracks(film, 31)
    assert len(half.X) == 31 * 6
    pairs = [(3, 5), (3, 7)]
    X, y, temporal, answers = ch17_tracks.about(half, [3, 5, 7, 9], pairs, np.full(len(half.X), -1))
    assert len(X) == len(y) == len(half.X) + 4
    assert len(temporal.must_link) == 4 * 6
    same = [film.digits[i] == film.digits[j] for i, j in pairs]
    assert len(answers.must_link) == sum(same)
    assert answers.n_pairs == 2
    rows = {3: 186, 5: 187, 7: 188}
    stated = {tuple(pair) for pair in np.vstack([answers.must_link, answers.cannot_link]).tolist()}
    assert stated == {(rows[i], rows[j]) for i, j in pairs}


def test_annotators_who_err_less_are_trusted_more():
    y = np.repeat([0, 1, 2, -1], [4, 4, 4, 9])
    sure = np.mean([ch17_tracks.trusted(y, np.random.default_rng(seed)) for seed in range(20)], axis=0)
    assert (np.diff(sure) > 0).all()
    assert sure == pytest.approx((20 * ch17_tracks.ACCURACY + 1) / 22, abs=0.08)
    pairs, same = ch17_tracks.questions(y, np.random.default_rng(0))
    assert same.sum() == 10
    assert ((y[pairs[:, 0]] == y[pairs[:, 1]]) == same).all()
    said = ch17_tracks.stated(pairs, same, np.arange(20) % 5, len(y), ch17_tracks.ACCURACY)
    sources = said.must_table.source_names()
    for name, confidence in zip(sources, said.must_table.confidence, strict=True):
        assert confidence == ch17_tracks.ACCURACY[int(name.split()[-1])]


def test_halves_share_no_row_and_rca_keeps_the_width():
    X, truth, told, test, y = ch17_tables.halves("digits 4, 9", 3, 0)
    assert len(X) + len(test) == len(truth) + len(y) == len(ch17_tables.table("digits 4, 9")[0])
    assert np.bincount(told[told >= 0]).tolist() == [3, 3]
    known = Constraints.sample(truth, n_pairs=60, random_state=0)
    assert ch17_tables.by_distance(X, known)(X).std() == pytest.approx(X.std())
    predict = ch17_tables.by_mixture(X, told, known, 0)
    assert (predict(X[told >= 0]) == told[told >= 0]).mean() > 0.8


def test_both_sides_of_the_race_have_one_optimum():
    found = ch17.linear_race(400, 40, 600)
    assert max(found["missing"], found["theirs"], found["newton"]) < 1e-5
    rng = np.random.default_rng(0)
    X, truth = rng.normal(size=(30, 3)), np.repeat([0, 1], 15)
    y = np.where(np.arange(30) % 3, truth, -1)
    known = Constraints.sample(truth, n_pairs=20, random_state=0)
    rows, sign = ch17.pseudo_examples(X, y, known)
    model = PairwiseLogisticRegression(kernel="linear").fit(X, y, constraints=known)
    at_zero = np.log(2.0) * len(rows)
    assert at_zero + ch17.cost(rows, sign, model.coef_[0]) == pytest.approx(model.objective_)


def test_differences_are_in_words():
    assert ch17_tracks.gap([0.3, 0.4], [0.1, 0.2])[0] == "confirmed"
    assert ch17_tracks.gap([0.1, 0.2], [0.3, 0.4]) == ("denied", "-20.0 +- 0.0 points")
    assert ch17_tracks.gap([0.1, 0.4], [0.3, 0.1])[0] == "neither"
