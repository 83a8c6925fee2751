"""Groups of features that are paid once: they are rows, and the parts add up to the whole."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import FeatureCosts, recommend
from ranksieve.recommendation.facts import FeatureFacts, describe_groups
from ranksieve.recommendation.queries import divide
from ranksieve.recommendation.task import Task
from ranksieve.report.recommendation import recommendation_report
from ranksieve.study.plan import Plan
from tests.recommendation.test_recommend import planted, slow_values

PLAN = Plan(
    selectors=["top"], rankers=["rankrls"], measures=["ndcg@10"], tune="ndcg@10", baselines=False
)
QUERIES = divide(planted(6), 5, 0)
NAMES = [str(number) for number in range(1, 7)]
NUMBERS = st.sampled_from([0.0, 0.1, 0.3, 1.0, 7.5])
COSTS = FeatureCosts(
    dict.fromkeys(NAMES, 1.0), {"1": "a", "3": "a", "5": "b", "6": "c"}, {"a": 4, "b": 2, "c": 9}
)


@pytest.fixture(scope="module")
def data():
    return planted()


@pytest.fixture(scope="module")
def answer(data):
    return recommend(data, "rankrls", margin=0.1, costs=COSTS, cost_unit="ms")


@st.composite
def costs_and_kept(draw):
    """Costs of six features with groups, those that may be chosen, and those that are."""
    groups = {name: g for name in NAMES if (g := draw(st.sampled_from(["", "a", "b", "c"])))}
    costs = {name: draw(NUMBERS) for name in NAMES} | {"1": 1.0}
    group_costs = {group: draw(NUMBERS) for group in sorted(set(groups.values()))}
    excluded = draw(st.sets(st.sampled_from(NAMES[1:]), max_size=2))
    allowed = [feature for feature, name in enumerate(NAMES) if name not in excluded]
    kept = draw(st.lists(st.sampled_from(allowed), unique=True))
    return FeatureCosts(costs, groups, group_costs), excluded, kept


@given(costs_and_kept())
def test_parts_add_up(drawn):
    costs, excluded, kept = drawn
    plan = replace(PLAN, exclude=sorted(excluded))
    task = Task(plan, QUERIES, 0.1, None, 0.95, costs, uses_default=True)
    own, gone = describe_groups(task, kept, FeatureFacts())
    dropped = [feature for feature in task.allowed if feature not in kept]
    of_kept, of_dropped = (task.costs.features[features].sum() for features in (kept, dropped))
    cost, cost_of_all = task.costs.total(kept), task.costs.total(task.allowed)
    assert of_kept + sum(group.cost for group in own) == pytest.approx(cost)
    saved = of_dropped + sum(group.cost for group in gone)
    assert saved == pytest.approx(cost_of_all - cost, abs=1e-12)
    for group in own:  # what leaving it out saves
        rest = [feature for feature in kept if feature not in group.features]
        assert group.saving == pytest.approx(cost - task.costs.total(rest))
    for group in gone:
        assert not set(group.features) & set(kept)
    for groups in (own, gone):
        savings = [group.saving for group in groups]
        assert savings == sorted(savings, reverse=True)


@pytest.mark.slow
def test_losses_without_groups_are_those_of_a_slow_version(data, answer):
    queries, n = divide(data, 5, 0), data.n_queries
    assert answer.kept_groups
    for group in answer.kept_groups:
        rest = [f for f in answer.features if f not in group.features]
        full, without, base = np.zeros(n), np.zeros(n), np.zeros(n)
        for number in [0, 4][: answer.evidence.repeats]:
            for trial in queries.division(number):
                (judges,) = trial.sets.judged.values()
                where = data.take_queries(trial.sets.train), data.take_queries(judges)
                for own, features in ((full, answer.features), (without, rest), (base, range(6))):
                    own[judges] += slow_values(*where, features)
        assert group.loss == pytest.approx((full - without).mean() / base.mean(), rel=1e-9)
        assert group.lower < group.loss < group.upper


@pytest.mark.slow
def test_groups_are_rows(answer):
    sheets = {part.sheet.name: part.sheet for part in recommendation_report(answer).parts}
    for name, total in (("kept", answer.cost), ("dropped", answer.cost_of_all - answer.cost)):
        sheet = sheets[name]
        place = {column.name: place for place, column in enumerate(sheet.columns)}
        assert sheet.columns[place["cost"]].above == "cost (ms)"
        assert sum(row[place["cost"]].value for row in sheet.rows) == pytest.approx(total)
        kinds = [row[place["kind"]].text for row in sheet.rows]
        assert kinds.count("group") == len(getattr(answer, f"{name}_groups"))
        assert f"{total:.4g} ms." in " ".join(sheet.notes)
    first = answer.kept_groups[0]
    shown = [entry.value for entry in next(sheets["groups"].rows)]
    assert shown[:4] == [first.name, len(first.features), first.cost, first.saving]
    assert shown[4] == first.loss
    names = [row[1].text for row in sheets["kept"].rows]
    assert f"{first.name} ({len(first.features)} kept)" in names


@pytest.mark.slow
def test_without_groups_there_is_no_table_of_them(data):
    costs = {name: float(place + 1) for place, name in enumerate(NAMES)}
    found = recommend(data, "rankrls", margin=0.1, costs=costs, details=False)
    names = [part.sheet.name for part in recommendation_report(found).parts]
    assert "kept" in names
    assert "groups" not in names
    assert found.kept_groups == found.dropped_groups == []
