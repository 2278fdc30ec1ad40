"""Random constraint problems as plain lists, the constraints built from them, and shared checks."""

import itertools
import random
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from coterie import Constraints
from tests.oracles import constraints as oracle

GROUP_MAKERS = {
    "label": Constraints.from_labels,
    "distinct": Constraints.distinct,
    "across": Constraints.across,
}


@dataclass
class Case:
    """A constraint problem in plain lists; `groups` are (kind, one value an item, None: not spoken of)."""

    n: int
    must: list[tuple[int, int]] = field(default_factory=list)
    cannot: list[tuple[int, int]] = field(default_factory=list)
    groups: list[tuple[str, list]] = field(default_factory=list)

    def build(self, **more) -> Constraints:
        c = Constraints(self.must, self.cannot, n_items=self.n, **more)
        for kind, values in self.groups:
            c = c | GROUP_MAKERS[kind](np.array(values, dtype=object))
        return c

    def pairs(self) -> tuple[list, list]:
        """Everything written out as pairs."""
        must, cannot = [oracle.ordered(p) for p in self.must if p[0] != p[1]], []
        cannot = [oracle.ordered(p) for p in self.cannot]
        for kind, values in self.groups:
            m, a = oracle.expand(kind, values)
            must, cannot = must + m, cannot + a
        return must, cannot


def random_pairs(rng: random.Random, n: int, count: int) -> list[tuple[int, int]]:
    return [tuple(rng.sample(range(n), 2)) for _ in range(count if n > 1 else 0)]


def random_values(rng: random.Random, n: int, n_codes: int, share: float) -> list:
    return [rng.randrange(n_codes) if rng.random() < share else None for _ in range(n)]


def random_case(rng: random.Random, low: int = 8, high: int = 40, kinds: str = "mixed") -> Case:
    """Anything goes, contradictions included; sparse enough that many cases are not trivial."""
    n = rng.randint(low, high)
    case = Case(n)
    if rng.random() < 0.7:
        case.must = random_pairs(rng, n, rng.randint(0, max(1, n // 3)))
    density = rng.choice([0.3, 0.8, 1.5, 2.5])
    case.cannot = random_pairs(rng, n, rng.randint(0, max(1, int(density * n))))
    if kinds == "mixed":
        for kind in ("label", "distinct", "across"):
            for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
                n_codes = rng.randint(1, 5) if kind != "distinct" else rng.randint(2, max(2, n // 3))
                case.groups.append((kind, random_values(rng, n, n_codes, rng.choice([0.1, 0.3, 0.6]))))
    return case


def without_contradictions(case: Case) -> Case:
    """Leave out of a problem what keeps apart items that must join, so that colouring decides it."""
    labels = [values for kind, values in case.groups if kind == "label"][:1]
    comp = oracle.components(case.n, case.must)
    kept: list[tuple[str, list]] = []
    for values in labels:  # one label a component, that of its first labelled item
        first: dict[int, object] = {}
        for item, value in enumerate(values):
            if value is not None:
                first.setdefault(comp[item], value)
        kept.append(("label", [None if v is None else first[comp[i]] for i, v in enumerate(values)]))
    comp = oracle.components(case.n, Case(case.n, case.must, [], kept).pairs()[0])
    for kind, values in case.groups:
        if kind == "label":
            continue
        seen: set = set()
        first = {}
        cleaned: list = []
        for item, value in enumerate(values):
            if kind == "across":
                cleaned.append(None if value is None else first.setdefault(comp[item], value))
            else:
                repeated = (comp[item], value) in seen
                seen.add((comp[item], value))
                cleaned.append(None if repeated else value)
        kept.append((kind, cleaned))
    return Case(case.n, case.must, [(i, j) for i, j in case.cannot if comp[i] != comp[j]], kept)


def random_core(rng: random.Random) -> Case:
    """A dense problem without contradictions, in which the search has something to do."""
    n = rng.randint(9, 20)
    share = rng.uniform(0.2, 0.7)
    case = Case(n, random_pairs(rng, n, rng.choice([0, 0, 1, 3])))
    case.cannot = [(i, j) for i in range(n) for j in range(i) if rng.random() < share]
    for kind, n_codes in (("distinct", n // 3), ("across", 3), ("label", 3)):
        if rng.random() < 0.3:
            case.groups.append((kind, random_values(rng, n, n_codes, rng.choice([0.2, 0.5]))))
    return without_contradictions(case)


@st.composite
def cases(draw, max_items: int = 8, groups: bool = True) -> Case:
    """Small problems for hypothesis, which shrinks them."""
    n = draw(st.integers(1, max_items))
    item = st.integers(0, n - 1)
    pairs = st.lists(st.tuples(item, item), max_size=8)
    case = Case(n, draw(pairs), [p for p in draw(pairs) if p[0] != p[1]])
    if groups:
        value = st.none() | st.integers(0, 2)
        kind = st.sampled_from(["label", "distinct", "across"])
        case.groups = draw(st.lists(st.tuples(kind, st.lists(value, min_size=n, max_size=n)), max_size=2))
    return case


@st.composite
def labellings(draw, max_items: int = 12, max_classes: int = 4) -> list[int]:
    """A labelling with at least two known items; -1 is unknown."""
    n = draw(st.integers(2, max_items))
    y = draw(st.lists(st.integers(-1, max_classes - 1), min_size=n, max_size=n))
    if sum(label >= 0 for label in y) < 2:
        y[0] = y[1] = 0
    return y


def says(*parts: str) -> str:
    """A pattern for a message that holds all these parts, in any order."""
    return "(?s)" + "".join(f"(?=.*(?:{part}))" for part in parts)


def if_possible(draw, *args, **more) -> list[Constraints]:
    """What a sampler draws, or nothing where it says that there is not enough to draw from."""
    try:
        return [draw(*args, **more)]
    except ValueError as error:
        refusal = str(error)
    assert "only" in refusal
    return []


def statements_of(conflict) -> tuple[list, list]:
    """A conflict's own constraints as must-links and cannot-links, groups written out as pairs."""
    must = [oracle.ordered(p) for p in conflict.must_link.tolist()]
    cannot = [oracle.ordered(p) for p in conflict.cannot_link.tolist()]
    for fact in conflict.implied:
        every = [oracle.ordered(pair) for pair in itertools.combinations(fact.items, 2)]
        (must if fact.together else cannot).extend(every)
    return must, cannot


def assert_proves_infeasible(conflict, c: Constraints, k: int) -> None:
    """The conflict holds stated things only, collides by itself, and is irreducible if it says so."""
    stated_must, stated_cannot = oracle.all_pairs(c)
    must, cannot = statements_of(conflict)
    assert set(must) <= stated_must
    assert set(cannot) <= stated_cannot
    assert {tuple(p) for p in conflict.must_link.tolist()} <= {tuple(p) for p in c.must_link.tolist()}
    assert {tuple(p) for p in conflict.cannot_link.tolist()} <= {tuple(p) for p in c.cannot_link.tolist()}
    assert conflict.n_clusters in (None, k)
    bound = c.n_items if conflict.n_clusters is None else k
    assert not oracle.feasible(c.n_items, must, cannot, bound)
    if conflict.irreducible:
        for t in range(len(must)):
            assert oracle.feasible(c.n_items, must[:t] + must[t + 1 :], cannot, bound), must[t]
        for t in range(len(cannot)):
            assert oracle.feasible(c.n_items, must, cannot[:t] + cannot[t + 1 :], bound), cannot[t]


def assert_check_is_right(c: Constraints, k: int, truth: bool) -> None:
    """The verdict equals the truth, and comes with a witness or a certificate that holds."""
    answer = c.check(k)
    assert answer.n_clusters == k
    assert answer.status == ("feasible" if truth else "infeasible")
    assert bool(answer) is truth
    if truth:
        assert answer.certificate is None
        witness = answer.witness.tolist()
        assert len(witness) == c.n_items
        assert all(0 <= label < k for label in witness)
        assert oracle.meets(witness, *oracle.all_pairs(c))
    else:
        assert answer.witness is None
        assert_proves_infeasible(answer.certificate, c, k)
