"""The set of seen sequence numbers."""

from hypothesis import given
from hypothesis import strategies as st

from headway.tracking.seqset import MOST_SPANS, SeqSet


@given(st.lists(st.integers(1, 100), max_size=120))
def test_behaves_like_a_set(numbers):
    seen, model = SeqSet(), set()
    for number in numbers:
        assert seen.add(number) is (number not in model)
        model.add(number)
        assert all((one in seen) is (one in model) for one in (number - 1, number, number + 1))
    assert [one for one in range(102) if one in seen] == sorted(model)
    assert all(a[1] + 1 < b[0] for a, b in zip(seen.spans, seen.spans[1:], strict=False))


def test_numbers_in_order_are_one_interval():
    seen = SeqSet()
    for number in range(1, 100_000):
        seen.add(number)
    assert seen.spans == [[1, 99_999]]


def test_what_comes_out_of_order_is_merged_once_the_gap_closes():
    seen = SeqSet()
    for number in (1, 3, 5, 4, 2):
        seen.add(number)
    assert seen.spans == [[1, 5]]


def test_only_the_newest_intervals_are_kept_after_many_losses():
    seen = SeqSet()
    for number in range(1, 1000, 2):
        seen.add(number)
    assert len(seen.spans) == MOST_SPANS
    assert 999 in seen
    assert 1 not in seen


def test_survives_being_written_down():
    seen = SeqSet([[1, 4], [7, 7]])
    assert 4 in seen
    assert 5 not in seen
    assert seen.add(6)
    assert SeqSet(seen.spans).spans == [[1, 4], [6, 7]]
