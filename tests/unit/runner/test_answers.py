"""What the relay says back."""

from __future__ import annotations

from headway.protocol.directive import Answer, Directive, DirectiveKind
from headway.protocol.report import Report, RunInfo, RunReport, TrainerStatus
from headway.runner.answers import INTERVAL, Answers


def report(seq: int, run: str = "R", **fields: object) -> Report:
    return Report(headway=RunReport(run=run, seq=seq, attempt="a", **fields))  # type: ignore[arg-type]


def test_an_acknowledgement_covers_everything_before_it() -> None:
    answers = Answers()
    assert [answers.kept("R", report(seq)).ack for seq in (1, 2, 4, 4, 5, 3, 1, 7)] == [1, 2, 2, 2, 2, 5, 5, 5]
    assert answers.kept("S", report(1, "S")).ack == 1


def test_a_stock_client_gets_its_own_status_back_and_no_acknowledgement() -> None:
    status = TrainerStatus(progress_percentage=5)
    answer = Answers().kept("R", Report(status=status, warnings=("mended",)))
    assert (answer.status, answer.ack, answer.interval, answer.warnings) == (status, None, INTERVAL, ("mended",))


def test_what_the_server_said_is_passed_on_until_it_is_done() -> None:
    answers = Answers()
    stop = Directive(id="d1", kind=DirectiveKind.STOP)
    save = Directive(id="d2", kind=DirectiveKind.CHECKPOINT)
    answers.heard("R", Answer(ack=99, interval=7, directives=(stop, save), want=("job",), warnings=("w",)))
    assert answers.stops() == ()
    answer = answers.kept("R", report(1))
    assert (answer.ack, answer.interval, answer.directives, answer.want) == (1, 7, (stop, save), ("job",))
    assert answers.stops() == ("d1",)
    assert answers.kept("R", report(2, acks=("d1",))).directives == (save,)
    assert answers.kept("R", report(3, job=RunInfo())).want == ()
    assert answers.kept("S", report(1, "S")).directives == ()


def test_every_run_hears_how_long_it_has_from_whoever_kills_it_until_the_next_attempt() -> None:
    answers = Answers()
    assert answers.kept("R", report(1)).grace is None
    answers.will_kill(60.0)
    assert [answers.kept(run, report(2, run)).grace for run in ("R", "S")] == [60.0, 60.0]
    answers.killing(60.0)
    left = [answers.kept(run, report(3, run)).grace for run in ("R", "S")]
    assert 0 < left[1] <= left[0] < 60.0
    answers.begin()
    assert answers.kept("R", report(4)).grace is None
    answers.heard("R", Answer(grace=7.0))
    assert answers.kept("R", report(5)).grace == 7.0, "another runner's, around this one"


def test_it_remembers_no_more_runs_than_it_can() -> None:
    answers = Answers()
    for index in range(5000):
        answers.kept(f"R{index}", report(1))
    assert answers.kept("R4999", report(2)).ack == 2
