"""The bookkeeping of recomputation in µ-TWO, Algorithms D, E and F."""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.multi_model.sub_array import IdleTensor, SubArray, Work
from jettison.solvers.multi_model.mu_two.recomputes import RecomputeCalculator


def chain(count: int) -> SubArray:
    """Return feature maps t0, t1, ... each computed from the one before, read in reverse.

    t_i takes 10 ** i ns, has 7 bytes, and is read by one backward operator alone.
    """
    works = tuple(Work(f"w{i}", 10**i, 100, 50) for i in range(count))
    return SubArray(
        models=1,
        static_bytes=0,
        forward=works,
        backward=works,
        tensors=tuple(
            IdleTensor(
                name=f"t{i}",
                size_bytes=7,
                made_by=i,
                last_forward=i,
                first_backward=count - 1 - i,
                last_backward=count - 1 - i,
                recompute_ns=10**i,
                recompute_bytes=0,
                sources=(i - 1,) if i else (),
                swap_ns=None,
            )
            for i in range(count)
        ),
    )


def test_a_chain_whose_middle_is_chosen_last_is_counted_as_often_as_it_runs() -> None:
    # The last one, t2, reads t1, and is read first in the backward pass. Chosen in the order
    # t2, t0, t1; times 1, 10 and 100.
    book = RecomputeCalculator(chain(3))
    book.recomputed(2, [], {0, 1})
    # t1 runs for t2 and for its own reader. t0 is no source of t2.
    assert book.total_ns == [1, 20, 100]
    book.recomputed(0, [2], {1})
    # t0 is gone, so that t1 starts at the batch: 10 + 1, twice.
    assert book.sources[1] == set()
    assert book.once_ns == [1, 11, 100]
    assert book.total_ns[1] == 22
    book.recomputed(1, [2, 0], set())
    # For its reader t2 takes t0, t1 and itself: 111.
    assert book.sources[2] == set()
    assert book.once_ns == [1, 11, 111]
    # All that runs again: 111 for t2, 11 for t1, 1 for t0.
    assert sum(book.once_ns) == 123


def test_the_own_reader_counts_beside_those_of_others() -> None:
    # Printed, line 18 of Algorithm F gives t1 the time of recomp_cnt(t2) = 1 computation, 10; it
    # runs once for t2, and again for its own reader.
    book = RecomputeCalculator(chain(3))
    book.recomputed(2, [], {0, 1})
    assert book.overhead_ns(1) == 20
    assert book.ratio(1) == 7 / 20


def test_a_feature_map_that_is_in_backward_use_stays_a_source() -> None:
    array = chain(2)
    # t0 is read from the first backward operator on, and t1 in the first one.
    held = replace(array.tensors[0], first_backward=0, last_backward=1)
    book = RecomputeCalculator(replace(array, tensors=(held, array.tensors[1])))
    book.recomputed(0, [], {1})
    assert book.sources[1] == {0}
    assert book.once_ns == [1, 10]


def test_a_swapped_source_is_replaced_by_its_own_sources_for_candidates() -> None:
    book = RecomputeCalculator(chain(3))
    book.swapped(1, [], {0, 2})
    assert book.sources[2] == {0}
    assert book.once_ns[2] == 110
    # t1 is not computed again, so t0 runs for its own reader only.
    assert book.total_ns == [1, 10, 110]


def test_a_swap_leaves_the_sources_of_what_was_chosen_before() -> None:
    book = RecomputeCalculator(chain(2))
    book.recomputed(1, [], {0})
    book.swapped(0, [1], set())
    assert book.sources[1] == {0}
