"""State of collective merging: clusters, their neighbours and groups, pairs that have relations, a queue."""

from __future__ import annotations

from typing import NamedTuple

from coterie._arrays import Floats, Index


class LiveClusters(NamedTuple):
    """Clusters, numbered by their first records; of two that merge the lesser number stays.

    `into` is a forest of the merged ones, `root` the unit that stands for each in the vetoes. The neighbours
    of a cluster are a linked list of entries: `to`, merged or not, from `head` on by `onward`; `degree` many,
    no two in one cluster. `group` is that of each; clusters of a group are a doubly linked list by `later`
    and `earlier`. `mark`, `met` and `touched` are scratch space.
    """

    into: Index
    root: Index
    size: Index
    to: Index
    onward: Index
    head: Index
    degree: Index
    group: Index
    later: Index
    earlier: Index
    mark: Index
    met: Index
    touched: Index


class AlikeGroups(NamedTuple):
    """Clusters that no attribute tells apart; any other cluster is a group of its own.

    `first` is the first cluster of each group (-1: none is left), `divisor` what its sums are divided by: 1,
    or the records of a cluster by itself under average linkage. `alone` (1): clusters without neighbours.
    What is similar to a group is a linked list of entries from `head` on by `onward`: to group `to`, with the
    sum of similarities `total`; the pairs of clusters before cluster `done` may not merge. `entry` is scratch
    space: where a group stands in the list that was marked last.
    """

    first: Index
    divisor: Floats
    alone: Index
    head: Index
    onward: Index
    to: Index
    total: Floats
    done: Index
    entry: Index


class RelatedPairs(NamedTuple):
    """Pairs of similar clusters with common neighbours: `common` many.

    Pair p has the ends `end[2 p]` and `end[2 p + 1]`, each in a doubly linked list of its cluster: from
    `head` on by `later` and `earlier`. `version` counts changes, `alike` is the similarity of the attributes.
    """

    end: Index
    later: Index
    earlier: Index
    head: Index
    common: Index
    alike: Floats
    version: Index


class MergeQueue(NamedTuple):
    """A heap of pairs: largest similarity first, then that of the attributes, then the least numbers.

    `ref` is an entry of the groups (>= 0: any pair of clusters of both, `a` and `b` if it is known which,
    else -1) or ~p for pair p, of that `version`.
    """

    key: Floats
    alike: Floats
    a: Index
    b: Index
    ref: Index
    version: Index


class MergeLog(NamedTuple):
    """Merges, or pairs that did not merge: two clusters, their similarity, and its two parts."""

    left: Index
    right: Index
    similarity: Floats
    alike: Floats
    relational: Floats


class Counters(NamedTuple):
    """How much of each array is in use, a single number each: `free` heads the list of unused pairs.

    `need` is how much more room of pairs, entries and queue the next merge may take.
    """

    queue: Index
    pairs: Index
    free: Index
    entries: Index
    groups: Index
    merges: Index
    near: Index
    mark: Index
    need: Index
