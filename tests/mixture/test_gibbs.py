"""Gibbs sampling against enumeration, on graphs small enough to write all labellings down."""

import math
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2

from coterie.exceptions import InfeasibleConstraintsError
from coterie.mixture._inference import gibbs_moves as _gibbs_moves
from coterie.mixture._inference.gibbs import Gibbs
from tests.marks import first_of

N_CALLS = 40
KERNELS = ("_draw_blocks", "_bond", "_number", "_contract", "_record")
NEVER = -np.inf


def enumerated(potential, ends, beta):
    """Marginals, log Z and agreement, from all labellings."""
    n, k = potential.shape
    labels = np.array(list(product(range(k), repeat=n)))
    agree = labels[:, ends[:, 0]] == labels[:, ends[:, 1]]
    score = potential[np.arange(n), labels].sum(axis=1) + np.where(agree, beta, 0.0).sum(axis=1)
    log_z = logsumexp(score)
    chance = np.exp(score - log_z)
    marginals = np.stack([chance @ (labels == a) for a in range(k)], axis=1)
    return marginals, log_z, chance @ agree


def conditionals(potential, ends, beta, labels):
    """Log potentials of each node given the labels of all others."""
    field = potential.copy()
    for (u, v), b in zip(ends, beta, strict=True):
        field[u, labels[v]] += b
        field[v, labels[u]] += b
    return field


def gaps(potential, ends, beta, seed, sweeps):
    """Distance from enumeration over its allowance: four standard errors and a few unseen rare events."""
    n, k = potential.shape
    part = Gibbs(n, k, ends, beta, seed, sweeps // N_CALLS, 20)
    answers = []
    for _ in range(N_CALLS):
        answers.append(part.infer(potential))
        part.burn_in = 0
        forbidden = ends[beta == NEVER]
        assert (part.labels[forbidden[:, 0]] != part.labels[forbidden[:, 1]]).all()
    marginals, _, agreement = enumerated(potential, ends, beta)
    found = np.array([np.append(one.marginals.ravel(), one.agreement) for one in answers])
    error = found.std(axis=0, ddof=1) / math.sqrt(N_CALLS)
    gap = np.abs(found.mean(axis=0) - np.append(marginals.ravel(), agreement))
    return gap / (4.0 * error + 2.0 / sweeps)


def check(potential, ends, beta, seed, sweeps=1200):
    """Within four standard errors; what chance alone breaks holds when repeated with more sweeps."""
    ends, beta = np.asarray(ends, dtype=np.int64).reshape(-1, 2), np.asarray(beta, dtype=float)
    for more in range(3):
        if gaps(potential, ends, beta, seed + more, sweeps * 4**more).max() <= 1.0:
            return
    raise AssertionError((potential, ends, beta))


def connected(n, ends):
    reached = {0}
    for _ in range(n):
        reached |= {v for pair in ends if reached & set(pair) for v in pair}
    return len(reached) == n


def all_connected(n):
    pairs = list(combinations(range(n), 2))
    for kept in product([False, True], repeat=len(pairs)):
        ends = [pair for pair, keep in zip(pairs, kept, strict=True) if keep]
        if connected(n, ends):
            yield ends


def clique(n):
    return np.array(list(combinations(range(n), 2)))


def cycle(n):
    return np.array([(i, (i + 1) % n) for i in range(n)])


def grid(rows, columns):
    at = np.arange(rows * columns).reshape(rows, columns)
    right = np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()])
    return np.concatenate([right, np.column_stack([at[:-1].ravel(), at[1:].ravel()])])


def random_graph(rng, n, share=0.6):
    pairs = clique(n)
    return pairs[rng.random(len(pairs)) < share]


def frustrated(rng, n=7, k=3):
    """A problem with couplings of both signs."""
    ends = random_graph(rng, n, 0.7)
    return rng.normal(size=(n, k)), ends, rng.normal(0.0, 1.5, len(ends))


@first_of("part", 4)
def test_all_connected_graphs_up_to_four_nodes(part, seed):
    rng = np.random.default_rng((seed, part))
    cases = [(n, k, ends) for n in (2, 3) for k in (2, 3, 4) for ends in all_connected(n)]
    four = list(all_connected(4))
    assert len(four) == 38
    cases += [(4, 2 + t % 3, ends) for t, ends in enumerate(four)]
    for n, k, ends in cases[part::4]:
        check(rng.normal(0.0, 0.7, (n, k)), ends, rng.normal(0.0, 1.2, len(ends)), seed)


@pytest.mark.parametrize("many", [12, pytest.param(36, marks=pytest.mark.slow)])
def test_random_graphs_up_to_seven_nodes(many, seed):
    rng = np.random.default_rng(seed)
    for t in range(many):
        n, k = 5 + t % 3, 2 + t % 3 if t % 2 else 2 + (t // 6) % 3
        ends = random_graph(rng, n)
        check(rng.normal(0.0, 0.7, (n, k)), ends, rng.normal(0.0, 1.2, len(ends)), seed)


@pytest.mark.parametrize(
    ("ends", "k"),
    [
        (clique(3), 3), (clique(3), 4), (clique(4), 4), (cycle(4), 3), (cycle(5), 3), (cycle(6), 3),
        (cycle(7), 4),
    ],
    ids=["K3 k3", "K3 k4", "K4 k4", "C4 k3", "C5 k3", "C6 k3", "C7 k4"],
)  # fmt: skip
def test_hard_cannot_links(ends, k, seed):
    rng = np.random.default_rng(seed)
    check(rng.normal(0.0, 0.7, (ends.max() + 1, k)), ends, np.full(len(ends), NEVER), seed)


@pytest.mark.parametrize("many", [6, pytest.param(16, marks=pytest.mark.slow)])
def test_hard_cannot_links_among_soft_couplings(many, seed):
    # with at most k - 2 forbidden couplings a node, every legal labelling can be reached
    rng = np.random.default_rng(seed)
    for t in range(many):
        n, k = 5 + t % 3, 3 + t % 2
        ends = random_graph(rng, n, 0.7)
        beta = rng.normal(0.0, 1.2, len(ends))
        degree = np.zeros(n, dtype=int)
        for e, pair in enumerate(ends):
            if (degree[pair] < k - 2).all():
                degree[pair] += 1
                beta[e] = NEVER
        potential = rng.normal(0.0, 0.7, (n, k))
        potential[0, 1] = NEVER
        check(potential, ends, beta, seed)


@pytest.mark.parametrize("beta", [8.0, 1000.0])
def test_strong_must_links_mix(beta, seed):
    rng = np.random.default_rng(seed)
    ends = clique(6)
    check(rng.normal(0.0, 0.3, (6, 3)), ends, np.full(len(ends), beta), seed)


def test_must_linked_clusters_with_many_cannot_links_between_them_mix(seed):
    rng = np.random.default_rng(seed)
    ends = clique(6)
    same = (ends[:, 0] < 3) == (ends[:, 1] < 3)
    check(rng.normal(0.0, 0.3, (6, 3)), ends, np.where(same, 6.0, -3.0), seed)


def test_a_chessboard_of_strong_cannot_links_turns_over():
    # two labellings have nearly all probability, and every unit differs between them
    ends = grid(12, 12)
    part = Gibbs(144, 2, ends, np.full(len(ends), -4.0), 0, 1000, 50)
    answer = part.infer(np.zeros((144, 2)))
    assert (np.abs(answer.marginals - 0.5) < 4.0 * part.errors).all()
    assert part.errors.max() < 0.05
    assert part.account.changed == 1.0


def test_thousands_of_nats_and_forbidden_couplings():
    # the centre must have label 0, so that each leaf takes what it likes least or next to least
    potential = np.array([[0.0, NEVER, NEVER], [0.0, -2000.0, -3000.0], [5000.0, -9000.0, -9000.0]])
    ends = np.array([[0, 1], [0, 2]])
    for beta in (NEVER, -1e5):
        answer = Gibbs(3, 3, ends, np.full(2, beta), 0, 400).infer(potential)
        assert answer.marginals[:2].tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
        assert answer.marginals[2] == pytest.approx([0.0, 0.5, 0.5], abs=1e-12)
        assert answer.agreement.tolist() == [0.0, 0.0]


def test_probabilities_too_small_for_a_float_still_count():
    # one of the two has label 0, and the other one pays a thousand nats, node 1 a little less
    potential = np.array([[0.0, -1000.0, NEVER], [0.0, -1000.0 + math.log(3.0), NEVER]])
    part = Gibbs(2, 3, [(0, 1)], [NEVER], 0, 1000)
    gap = part.infer(potential).marginals - [[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]]
    assert np.abs(gap).max() < 4.0 * part.account.standard_error < 0.1


@pytest.mark.parametrize("move", ["blocks", "clusters", "exchange"])
@pytest.mark.parametrize(
    ("k", "hard"),
    [(2, 0), (3, 1), *(pytest.param(*more, marks=pytest.mark.slow) for more in ((2, 1), (3, 0)))],
)
def test_each_move_keeps_the_distribution(move, k, hard, seed):
    # many copies of one small graph, drawn from the right distribution, are moved at once
    rng = np.random.default_rng(seed)
    n, copies, ends = 4, 60_000, clique(4)
    potential = rng.normal(0.0, 0.7, (n, k))
    beta = rng.permutation([1.5, 1.0, 0.5, -0.5, -1.0, NEVER if hard else -1.5])
    states = np.array(list(product(range(k), repeat=n)))
    agree = states[:, ends[:, 0]] == states[:, ends[:, 1]]
    score = potential[np.arange(n), states].sum(axis=1) + np.where(agree, beta, 0.0).sum(axis=1)
    chance = np.exp(score - logsumexp(score))
    drawn = rng.choice(len(states), size=copies, p=chance)

    many = (ends + n * np.arange(copies)[:, None, None]).reshape(-1, 2)
    part = Gibbs(n * copies, k, many, np.tile(beta, copies), seed)
    part.labels = states[drawn].ravel()
    graph = part.indptr, part.indices, part.beta[part.row]
    moves = _gibbs_moves.Moves(
        np.tile(potential, (copies, 1)), graph, part.ends, part.beta, part.labels, part.rng, 1000
    )
    for _ in range(4):
        if move == "blocks":
            moves._blocks(moves.graph, moves.potential, part.labels)
        elif move == "clusters":
            moves._move_clusters()
        else:
            moves._exchange()
    found = part.labels.reshape(copies, n) @ k ** np.arange(n)[::-1]
    counts = np.bincount(found, minlength=len(states))
    assert (counts[chance == 0.0] == 0).all()
    assert (found != drawn).mean() > 0.3
    often, expected = copies * chance > 5, copies * chance
    distance = ((counts - expected)[often] ** 2 / expected[often]).sum()
    assert chi2.sf(distance, often.sum()) > 1e-5


def test_first_labels_are_legal(seed):
    rng = np.random.default_rng(seed)
    for _ in range(30):
        n, k = 30, 4
        truth = rng.integers(k, size=n)
        ends = random_graph(rng, n, 0.25)
        ends = ends[truth[ends[:, 0]] != truth[ends[:, 1]]]
        potential = rng.normal(0.0, 500.0, (n, k))
        # some labels are impossible, some nodes have only one
        potential[(rng.random((n, k)) < 0.3) & (np.arange(k) != truth[:, None])] = NEVER
        potential[:3][np.arange(k) != truth[:3, None]] = NEVER
        labels = Gibbs(n, k, ends, np.full(len(ends), NEVER), seed)._first(potential)
        assert (labels[ends[:, 0]] != labels[ends[:, 1]]).all()
        assert (potential[np.arange(n), labels] > NEVER).all()


def test_what_cannot_be_is_an_error():
    with pytest.raises(ValueError, match="No label is possible for unit 1"):
        Gibbs(2, 2, [(0, 1)], [1.0], 0).infer(np.array([[0.0, 0.0], [NEVER, NEVER]]))
    with pytest.raises(InfeasibleConstraintsError):
        Gibbs(4, 3, clique(4), np.full(6, NEVER), 0).infer(np.zeros((4, 3)))


def test_labels_that_became_impossible_are_replaced():
    ends = clique(3)
    part = Gibbs(3, 3, ends, np.full(3, NEVER), 0, 50)
    part.infer(np.zeros((3, 3)))
    potential = np.where(part.labels[:, None] == np.arange(3), NEVER, 0.0)
    assert part.infer(potential).marginals[potential == NEVER].max() == 0.0


def test_same_seed_same_answer(seed):
    potential, ends, beta = frustrated(np.random.default_rng(seed))

    def answers(state):
        part = Gibbs(7, 3, ends, beta, state, 30, 5)
        return [part.infer(potential).marginals.tolist() for _ in range(2)]

    assert answers(3) == answers(3)
    assert answers(3) != answers(4)
    assert answers(np.random.RandomState(3)) == answers(np.random.RandomState(3))
    assert answers(np.random.default_rng(3)) == answers(3)


def test_goes_on_from_the_last_labels():
    # two labels that chance never leaves: a must-link far stronger than anything, seen from either side
    part = Gibbs(2, 2, [(0, 1)], [0.0], 0, 4, 7)
    part.infer(np.array([[0.0, -60.0], [-60.0, 0.0]]))
    assert (part.account.n_sweeps, part.account.burn_in) == (4, 7)
    assert part.labels.tolist() == [0, 1]
    part.n_sweeps, kept = 12, part.labels
    part.infer(np.array([[0.0, -60.0], [-60.0, 0.0]]))
    assert (part.account.n_sweeps, part.account.burn_in) == (12, 7)
    assert part.labels is kept
    part.n_sweeps = 1
    part.infer(np.zeros((2, 2)))
    assert part.account.burn_in == 1


def test_one_sweep_answers_with_the_conditionals_of_its_labels(seed):
    potential, ends, beta = frustrated(np.random.default_rng(seed))
    beta[0] = NEVER
    part = Gibbs(7, 3, ends, beta, seed, 1)
    answer = part.infer(potential)
    field = conditionals(potential, ends, beta, part.labels)
    log_sum = logsumexp(field, axis=1)
    chance = np.exp(field - log_sum[:, None])
    u, v = ends.T
    assert answer.marginals == pytest.approx(chance)
    assert answer.agreement == pytest.approx((chance[u, part.labels[v]] + chance[v, part.labels[u]]) / 2)
    agreeing = beta[part.labels[u] == part.labels[v]].sum()
    assert answer.log_z == pytest.approx(log_sum.sum() - agreeing)


def test_without_couplings_all_is_exact(seed):
    potential = np.random.default_rng(seed).normal(size=(5, 3))
    part = Gibbs(5, 3, np.empty((0, 2), dtype=np.int64), np.empty(0), 0, 10)
    answer = part.infer(potential)
    marginals, log_z, _ = enumerated(potential, part.ends, part.beta)
    assert answer.marginals == pytest.approx(marginals)
    assert answer.log_z == pytest.approx(log_z)
    assert part.account.standard_error < 1e-7
    assert answer.agreement.shape == (0,)
    assert (
        Gibbs(0, 3, np.empty((0, 2), dtype=np.int64), np.empty(0), 0, 10).infer(np.empty((0, 3))).log_z == 0.0
    )


def test_log_z_is_near_the_truth(seed):
    rng = np.random.default_rng(seed)
    gaps = []
    for _ in range(12):
        potential, ends, beta = frustrated(rng)
        found = Gibbs(7, 3, ends, beta, seed, 200).infer(potential).log_z
        gaps.append(found - enumerated(potential, ends, beta)[1])
    assert np.abs(gaps).mean() < 1.5


def test_conditionals_vary_less_than_labels(seed):
    potential, ends, beta = frustrated(np.random.default_rng(seed))
    part = Gibbs(7, 3, ends, beta, seed, 1, 1)
    smooth, drawn = np.zeros((2, 60, 7, 3))
    for t, _ in product(range(60), range(20)):
        smooth[t] += part.infer(potential).marginals / 20
        drawn[t] += np.eye(3)[part.labels] / 20
    assert smooth.var(axis=0).sum() < drawn.var(axis=0).sum()


def test_scale_leaves_forbidden_couplings_alone(seed):
    potential, ends, beta = frustrated(np.random.default_rng(seed))
    beta[:2] = NEVER
    scaled = Gibbs(7, 3, ends, beta, 1, 50).infer(potential, scale=0.25)
    finite = np.where(beta > NEVER, 0.25 * beta, NEVER)
    plain = Gibbs(7, 3, ends, finite, 1, 50).infer(potential)
    assert scaled.marginals.tolist() == plain.marginals.tolist()
    at_zero = Gibbs(7, 3, ends[2:], beta[2:], 1, 50).infer(potential, scale=0.0)
    assert at_zero.marginals == pytest.approx(np.exp(potential - logsumexp(potential, axis=1, keepdims=True)))


def test_interpreted_gives_the_same_answer(seed, monkeypatch):
    potential, ends, beta = frustrated(np.random.default_rng(seed))
    beta[0], beta[1] = NEVER, 700.0

    def answer(form):
        for name in KERNELS:
            chosen = getattr(getattr(_gibbs_moves, name), form)
            with_form = SimpleNamespace(for_work=lambda work, chosen=chosen: chosen)
            monkeypatch.setattr(_gibbs_moves, name, with_form)
        part = Gibbs(7, 3, ends, beta, 5, 40)
        found = part.infer(potential)
        monkeypatch.undo()
        return *(np.asarray(one).tolist() for one in found), part.labels.tolist(), part.account

    assert answer("compiled") == answer("interpreted")


def test_many_small_pieces_are_as_right_as_one(seed, monkeypatch):
    monkeypatch.setattr(_gibbs_moves, "_CELLS_A_CALL", 7)
    rng = np.random.default_rng(seed)
    ends = random_graph(rng, 7, 0.7)
    beta = rng.normal(0.0, 1.2, len(ends))
    beta[0] = NEVER
    assert len(_gibbs_moves._pieces(np.arange(8), 3, rng)) > 2
    check(rng.normal(0.0, 0.7, (7, 3)), ends, beta, seed)


def test_standard_errors_are_of_the_right_size(seed):
    rng = np.random.default_rng(seed)
    squared = []
    for t in range(40):
        ends = random_graph(rng, 6)
        potential, beta = rng.normal(0.0, 0.7, (6, 3)), rng.normal(0.0, 1.0, len(ends))
        part = Gibbs(6, 3, ends, beta, seed + t, 900)
        gap = part.infer(potential).marginals - enumerated(potential, ends, beta)[0]
        assert part.account.standard_error == part.errors.max()
        assert np.abs(gap).max() < 8.0 * part.account.standard_error
        linked = np.unique(ends)
        squared.append(np.mean((gap[linked] / part.errors[linked]) ** 2))
    assert 0.7 < np.mean(squared) < 1.5


def test_account_is_a_sentence():
    ends = clique(4)
    part = Gibbs(4, 3, ends, np.ones(6), 0, 100, 20)
    part.infer(np.zeros((4, 3)))
    account = part.account
    assert 0.0 < account.standard_error < 0.2
    assert 0.0 < account.half_difference < 0.5
    assert account.changed == 1.0
    assert str(account) == (
        f"100 sweeps after 20 to warm up; standard error of the probabilities up to "
        f"{account.standard_error:.2g}, the two halves differ by up to {account.half_difference:.2g}; "
        "100% of the units changed their label"
    )
    part.n_sweeps, part.burn_in = 1, 0
    part.infer(np.zeros((4, 3)))
    assert math.isnan(part.account.standard_error)
    assert str(part.account).startswith("1 sweep after 0 to warm up; ")
