"""The history of conditions: opened, kept and withdrawn as findings come and go."""

from headway.insight.findings import Finding
from headway.protocol.verdict import SEVERITY, ConditionType
from headway.tracking.conditions.merge import MOST_CONDITIONS, end_all, lately, merge, standing

TYPES = frozenset({ConditionType.PLATEAUED, ConditionType.NON_FINITE})


def finding(kind: ConditionType = ConditionType.PLATEAUED, **more) -> Finding:
    return Finding(type=kind, since_t=more.pop("since_t", 90.0), **more)


def test_a_finding_opens_a_condition_at_its_onset():
    (condition,), turned = merge((), [finding(since_step=9, metric="loss", text="flat")], TYPES, 100.0, 10)
    assert turned
    assert (condition.since, condition.since_step, condition.until, condition.metric) == (90.0, 9, None, "loss")
    assert condition.severity is SEVERITY[ConditionType.PLATEAUED]


def test_an_onset_is_never_in_the_future_nor_unknown():
    (condition,), _ = merge((), [finding(since_t=float("nan"))], TYPES, 100.0, None)
    assert condition.since == 100.0
    (condition,), _ = merge((), [finding(since_t=120.0)], TYPES, 100.0, None)
    assert condition.since == 100.0


def test_a_standing_condition_keeps_its_onset_and_renews_its_evidence():
    conditions, _ = merge((), [finding(evidence={"slope": 1.0})], TYPES, 100.0, 1)
    (condition,), turned = merge(conditions, [finding(since_t=95.0, evidence={"slope": 2.0})], TYPES, 110.0, 2)
    assert not turned
    assert (condition.since, condition.evidence) == (90.0, {"slope": 2.0})


def test_a_recovery_withdraws_it_and_keeps_from_when_to_when_it_stood():
    """D4."""
    conditions, _ = merge((), [finding()], TYPES, 100.0, 1)
    conditions, turned = merge(conditions, [], TYPES, 150.0, 5)
    assert turned
    conditions, _ = merge(conditions, [finding(since_t=190.0)], TYPES, 200.0, 9)
    assert [(one.since, one.until, one.until_step) for one in conditions] == [(90.0, 150.0, 5), (190.0, None, None)]


def test_the_same_type_of_two_metrics_are_two_conditions():
    both = [finding(metric="loss"), finding(metric="eval_loss")]
    conditions, _ = merge((), both, TYPES, 100.0, 1)
    conditions, _ = merge(conditions, both[:1], TYPES, 110.0, 2)
    assert [one.metric for one in standing(conditions)] == ["loss"]


def test_types_of_other_judges_are_left_alone():
    conditions, _ = merge((), [finding(ConditionType.SILENT)], {ConditionType.SILENT}, 100.0, 1)
    after, turned = merge(conditions, [], TYPES, 110.0, 2)
    assert (after, turned) == (conditions, False)


def test_the_gravest_comes_first():
    found = [finding(), finding(ConditionType.NON_FINITE)]
    conditions, _ = merge((), found, TYPES, 100.0, 1)
    assert [one.type for one in standing(conditions)] == [ConditionType.NON_FINITE, ConditionType.PLATEAUED]


def test_an_end_withdraws_everything():
    conditions, _ = merge((), [finding(), finding(ConditionType.NON_FINITE)], TYPES, 100.0, 1)
    conditions, turned = end_all(conditions, 120.0, 7)
    assert turned
    assert {one.until for one in conditions} == {120.0}
    assert end_all(conditions, 130.0, 8) == (conditions, False)


def test_a_flapping_condition_does_not_grow_without_bound():
    conditions = ()
    for now in range(2 * MOST_CONDITIONS):
        conditions, _ = merge(conditions, [finding()], TYPES, 2.0 * now, 1)
        conditions, _ = merge(conditions, [], TYPES, 2.0 * now + 1, 1)
    assert len(conditions) == MOST_CONDITIONS
    assert conditions[-1].until == 2.0 * (2 * MOST_CONDITIONS) - 1


def test_what_was_withdrawn_within_the_last_minute_is_still_told():
    conditions, _ = merge((), [finding()], TYPES, 100.0, 1)
    conditions, _ = merge(conditions, [], TYPES, 110.0, 2)
    conditions, _ = merge(conditions, [finding(ConditionType.NON_FINITE)], TYPES, 120.0, 3)
    assert [one.type for one in lately(conditions, 130.0)] == [ConditionType.NON_FINITE, ConditionType.PLATEAUED]
    assert [one.type for one in lately(conditions, 171.0)] == [ConditionType.NON_FINITE]
