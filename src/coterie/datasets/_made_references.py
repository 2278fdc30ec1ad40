"""Made-up records of people or things that occur together, with the entities behind them.

The generator of chapter 10 of "Constrained Clustering" is not printed; this one has its knobs: how ambiguous
attributes are, how many relations there are, and how many of these are ambiguous. The cost is linear.
"""

from __future__ import annotations

from random import Random
from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch, check_random_state

from coterie.constraints._reading import whole_number

_SPACING = 8.0  # between the numbers of entities
_GIVEN = """
    Maria Wei John Anna David Li Peter Elena Michael Sara Robert Yan Thomas Laura James Ingrid
    Daniel Mei Paul Eva Martin Kate Andrew Nora Stefan Jing George Olga Frank Ruth Carlos Hana
    Richard Vera Erik Tania Hugo Zoe Bruno Queenie Felix Uma Oscar Wanda Igor Xenia Victor Yusuf
"""
_STARTS = "b br ch d f g gr h j k kl l m n p r s sch st t tr v w z"
_ENDS = "a an ar e el en er i in is o on or u um"


def make_references(
    n_entities: int = 100,
    n_relations: int = 100,
    n_contexts: int = 500,
    *,
    attribute: Literal["number", "name"] = "number",
    p_ambiguous: float = 0.5,
    p_ambiguous_relation: float = 0.0,
    p_continue: float = 0.9,
    noise: float | None = None,
    popularity: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Make records of entities that occur in contexts together: which records are the same entity?

    Related entities occur together. A context begins with some entity; then, each time with probability
    `p_continue`, another entity joins that is related to the first and not there yet.

    Parameters
    ----------
    n_entities : int, default=100
        How many entities there are.
    n_relations : int, default=100
        How many pairs of entities are related; an entity has ``2 n_relations / n_entities`` on average.
    n_contexts : int, default=500
        How many contexts (papers, mails, baskets) there are.
    attribute : {"number", "name"}, default="number"
        What a record shows: a number, or the name of a person, in full or with initials, at times misspelt.
    p_ambiguous : float, default=0.5
        Probability that an entity has the number or the name of an earlier one.
    p_ambiguous_relation : float, default=0.0
        Probability that a relation repeats another one between entities of the same two numbers or names,
        where there are such.
    p_continue : float, default=0.9
        Probability that another record follows in a context.
    noise : float, optional
        Of numbers the standard deviation, by default 1 (different numbers are 8 apart); of names the share
        that is misspelt, by default 0.05.
    popularity : float, default=0.0
        How unequal entities are: the k-th is drawn with a weight of ``k ** -popularity``. Above 0 each
        begins at least one context, where there are enough.
    random_state : int, RandomState or None, default=None
        Seed of all that is drawn.

    Returns
    -------
    Bunch
        With these keys:

        - ``data``: array of shape (n_records, 1), numbers, or names as objects.
        - ``target``: the entity of each record. With `popularity` 0 some entities may not occur.
        - ``contexts``: the number of the context of each record.
        - ``entity_values``: the true number or name of each entity.
        - ``relations``: array of shape (n_relations, 2).
        - ``feature_names``, ``DESCR``: what the column is; size and source.

    Notes
    -----
    There is a surname for every two entities, drawn by Zipf's law, so that some are common. Half of the
    names have initials.

    References
    ----------
    I. Bhattacharya and L. Getoor, chapter 10 of "Constrained Clustering", 2008, section 10.5.

    Examples
    --------
    >>> from coterie.datasets import make_references
    >>> papers = make_references(40, 60, 30, attribute="name", p_ambiguous=0.2, random_state=0)
    >>> papers.data.shape, len(set(papers.target)), len(set(papers.contexts))
    ((101, 1), 34, 30)
    """
    counts = {"n_entities": n_entities, "n_relations": n_relations, "n_contexts": n_contexts}
    for name, count in counts.items():
        whole_number(count, name, 0 if name == "n_relations" else 1)
    if attribute not in ("number", "name"):
        raise ValueError(f"attribute must be 'number' or 'name'; got {attribute!r}.")
    noise = (1.0 if attribute == "number" else 0.05) if noise is None else noise
    most = np.inf if attribute == "number" else 1.0
    limits = {
        "p_ambiguous": (p_ambiguous, 1.0),
        "p_ambiguous_relation": (p_ambiguous_relation, 1.0),
        "p_continue": (p_continue, 1.0),
        "noise": (noise, most),
        "popularity": (popularity, np.inf),
    }
    for name, (value, limit) in limits.items():
        if not 0 <= value <= limit or value == np.inf:
            allowed = f"from 0 to {limit:g}" if limit < np.inf else "a number, at least 0"
            raise ValueError(f"{name} must be {allowed}; got {value!r}.")
    rng = check_random_state(random_state)
    chance = Random(int(rng.randint(2**31)))  # quicker where things are drawn one by one
    value = _values(n_entities, p_ambiguous, chance)
    weight = np.arange(1, n_entities + 1, dtype=np.float64) ** -popularity
    relations = _relations(weight, n_relations, value, p_ambiguous_relation, rng, chance)
    first = _draw(weight, n_contexts, rng)
    if popularity and n_contexts >= n_entities:
        first[:n_entities] = np.arange(n_entities)
        rng.shuffle(first)
    target, contexts = _occurrences(first.tolist(), relations, n_entities, p_continue, rng, chance)
    if attribute == "number":
        values: Any = _SPACING * value
        data = (values[target] + rng.normal(0.0, noise, len(target)))[:, None]
    else:
        people = _people(int(value.max()) + 1, rng, chance)
        values = np.array([" ".join(filter(None, people[v])) for v in value.tolist()], dtype=object)
        shown = [_spelling(people[v], noise, chance) for v in value[target].tolist()]
        data = np.array(shown, dtype=object)[:, None]
    return Bunch(
        data=data,
        target=target,
        contexts=contexts,
        entity_values=values,
        relations=relations,
        feature_names=[attribute],
        DESCR=f"{len(target):,} records of {len(np.unique(target)):,} entities in {n_contexts:,} contexts. "
        "Source: made after chapter 10 of Basu, Davidson and Wagstaff (eds.), Constrained Clustering, 2008.",
    )


def _values(n: int, p_ambiguous: float, chance: Random) -> Any:
    """The number of the value of each entity: that of an earlier one, or the next."""
    found, n_values = [], 0
    for _ in range(n):
        copied = n_values and chance.random() < p_ambiguous
        found.append(chance.randrange(n_values) if copied else n_values)
        n_values += not copied
    return np.array(found)


def _draw(weight: Any, size: Any, rng: Any) -> Any:
    """Entities, in proportion to their weights."""
    ends = np.cumsum(weight)
    return np.searchsorted(ends, rng.uniform(0.0, ends[-1], size), side="right").clip(max=len(ends) - 1)


def _relations(
    weight: Any, n_relations: int, value: Any, p_ambiguous: float, rng: Any, chance: Random
) -> Any:
    """Pairs of entities, all different; some repeat another one between namesakes."""
    n = len(weight)
    n_repeated = rng.binomial(max(n_relations - 1, 0), p_ambiguous)
    found: dict[tuple[int, int], None] = {}
    n_tries = 0

    def add_drawn(wanted: int) -> None:
        nonlocal n_tries
        while len(found) < wanted:
            n_tries += 1
            if n_tries > 200:
                raise ValueError(
                    f"n_relations={n_relations:,}, but only {len(found):,} different pairs of the {n:,} "
                    "entities were found; ask for fewer."
                )
            pairs = np.sort(_draw(weight, (max(wanted - len(found), 100), 2), rng), axis=1).tolist()
            for a, b in pairs:
                if a != b and len(found) < wanted:
                    found[a, b] = None

    add_drawn(n_relations - n_repeated)
    named: dict[int, list[int]] = {}
    for entity, v in enumerate(value.tolist()):
        named.setdefault(v, []).append(entity)
    models = list(found)
    for _ in range(20 * n_repeated):
        if len(found) == n_relations:
            break
        a, b = (chance.choice(named[value[entity]]) for entity in chance.choice(models))
        pair = (a, b) if a < b else (b, a)
        if a != b and pair not in found:
            found[pair] = None
            models.append(pair)
    add_drawn(n_relations)  # namesakes are scarce
    return np.array(list(found), dtype=np.int64).reshape(-1, 2)


def _occurrences(
    first: list[int], relations: Any, n: int, p_continue: float, rng: Any, chance: Random
) -> tuple[Any, Any]:
    """The entity and the context of each record."""
    related: list[list[int]] = [[] for _ in range(n)]
    for a, b in relations.tolist():
        related[a].append(b)
        related[b].append(a)
    more = np.full(len(first), n) if p_continue == 1 else rng.geometric(1.0 - p_continue, len(first)) - 1
    target, size = [], []
    for entity, wanted in zip(first, more.tolist(), strict=True):
        beside = chance.sample(related[entity], min(wanted, len(related[entity])))
        target += [entity, *beside]
        size.append(1 + len(beside))
    return np.array(target), np.repeat(np.arange(len(first)), size)


# ---- names --------------------------------------------------------------------------------------------


def _people(n: int, rng: Any, chance: Random) -> list[tuple[str, str, str]]:
    """Given name, middle name or nothing, and surname of n people, all different."""
    starts, ends, first_names = _STARTS.split(), _ENDS.split(), _GIVEN.split()
    surnames: dict[str, None] = {}
    while len(surnames) < max(n // 2, 2):
        syllables = (chance.choice(starts) + chance.choice(ends) for _ in range(chance.choice((2, 2, 3))))
        surnames["".join(syllables).capitalize()] = None
    listed = list(surnames)
    common = [
        1.0 / np.arange(shift, shift + size) for shift, size in ((21, len(listed)), (6, len(first_names)))
    ]
    found: dict[tuple[str, str, str], None] = {}
    while len(found) < n:
        some = n - len(found) + 20
        family, given = _draw(common[0], some, rng).tolist(), _draw(common[1], (some, 2), rng).tolist()
        for surname, (one, two) in zip(family, given, strict=True):
            middle = first_names[two] if chance.random() < 0.5 else ""
            found[first_names[one], middle, listed[surname]] = None
    return list(found)[:n]


def _spelling(person: tuple[str, str, str], misspelt: float, chance: Random) -> str:
    """How a record writes a name: half of the time with initials, half of the time without a middle name."""
    given, middle, surname = person
    kept = middle if chance.random() < 0.5 else ""
    if chance.random() < 0.5:
        given, kept = f"{given[0]}.", kept and f"{kept[0]}."
    if chance.random() < misspelt:
        surname = _slip(surname, chance)
    return " ".join(filter(None, (given, kept, surname)))


def _slip(word: str, chance: Random) -> str:
    """A word with one slip of the pen, behind its first letter."""
    at = chance.randrange(1, len(word) - 1)
    here, there = word[at], word[at + 1]
    middle = chance.choice((there + here, here, here + here + there, chance.choice("aeinorst") + there))
    return word[:at] + middle + word[at + 2 :]
