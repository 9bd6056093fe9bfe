"""A run as it is stored, and back: its part of the document of a job (:mod:`headway.tracking.document`)."""

from __future__ import annotations

import math
from typing import Any, Final

from headway.protocol import codec
from headway.protocol.report import Checkpoint, Ending, Phase, RunInfo, Unit
from headway.tracking.metric_state import MetricState
from headway.tracking.runs import RunState, StockState
from headway.tracking.said import Ended, LastPost, Said, Saved, Stack
from headway.tracking.seqset import SeqSet
from headway.tracking.writing import WriteJson

_INF: Final = math.inf


def dump_run(run: RunState, write: WriteJson) -> bytes:
    """The stored form of a run: a JSON object, put together again only where it has changed."""
    news = {
        "run": run.run,
        "rank": run.rank,
        "worldSize": run.world_size,
        "wrote": run.wrote,
        "seen": run.seen.spans,
        "seq": run.seq,
        "seqT": run.seq_t,
        "spokeAt": run.spoke_at,
        "firstSeen": run.first_seen,
        "origin": None if run.origin == _INF else run.origin,
        "step": [run.step, run.step_at, run.start],
        "known": run.known,
        "firstTotal": run.first_total,
        "metrics": _metrics(run.metrics),
        "gaps": run.gaps,
    }
    if run.stock is not None:
        claim, final, worth, (low, high) = run.stock.claim, run.stock.final, run.stock.worth, run.stock.epoch_bounds
        news["stock"] = [claim, final, worth, low, None if high == _INF else high]
    rest = (run.checkpoint, run.saves, run.info, run.ending, run.stack, run.warnings)
    if run.rest_fragment is None or run.rest_fragment[0] != rest:  # mostly the same objects, which costs no comparison
        run.rest_fragment = rest, _rest_fragment(run, write)
    run.fragment = b"%b%b}" % (write(news)[:-1], run.rest_fragment[1])
    return run.fragment


def _rest_fragment(run: RunState, write: WriteJson) -> bytes:
    """What is not said with every report: members of an object, with a comma before each."""
    saved, info, ending = run.checkpoint, run.info, run.ending
    value: dict[str, Any] = {}
    if saved is not None:
        value["checkpoint"] = [*saved[:3], codec.encode(saved.what)]
    if run.saves:
        value["saves"] = run.saves
    if info is not None:
        value["info"] = [info.seq, codec.encode(info.value)]
    if ending is not None:
        value["ending"] = [*ending[:2], codec.encode(ending.how)]
    if run.stack is not None:
        value["stack"] = run.stack
    if run.warnings:
        value["warnings"] = run.warnings
    return b",%b" % write(value)[1:-1] if value else b""


def _metrics(metrics: dict[str, MetricState]) -> dict[str, list[Any]]:
    result = {}
    for name, one in metrics.items():
        value = one.value if -_INF < one.value < _INF else codec.encode_number(one.value)
        low, high = (one.low, one.high) if one.low <= one.high else (None, None)
        result[name] = [one.t, one.step, one.seq, value, low, high]
    return result


def load_run(value: dict[str, Any]) -> RunState:
    """The run that :func:`dump_run` described."""
    run = RunState(value["run"], value["rank"])
    run.world_size, run.wrote = value["worldSize"], value["wrote"]
    run.seen = SeqSet(value["seen"])
    run.seq, run.seq_t, run.spoke_at = value["seq"], value["seqT"], value["spokeAt"]
    run.first_seen = value["firstSeen"]
    run.origin = _INF if value["origin"] is None else value["origin"]
    run.step, run.step_at, run.start = value["step"]
    run.known = {name: (seq, _known(name, one)) for name, (seq, one) in value["known"].items()}
    run.first_total = _said(value["firstTotal"])
    run.gaps = value["gaps"]
    for name, (t, step, seq, newest, low, high) in value["metrics"].items():
        number = codec.NON_FINITE[newest] if isinstance(newest, str) else float(newest)
        entry = run.metrics[name] = MetricState(t, step, seq, number)
        if low is not None:
            entry.low, entry.high = low, high
    if (one := value.get("checkpoint")) is not None:
        run.checkpoint = Saved(one[0], one[1], one[2], codec.decode(Checkpoint, one[3]))
        run.saves = tuple(value.get("saves", (run.checkpoint.step,)))
    if (one := value.get("info")) is not None:
        run.info = Said(one[0], codec.decode(RunInfo, one[1]))
    if (one := value.get("ending")) is not None:
        run.ending = Ended(one[0], one[1], codec.decode(Ending, one[2]))
    if isinstance(one := value.get("stack"), list):
        run.stack = Stack(*one)
    run.warnings = tuple(value.get("warnings", ()))
    if (one := value.get("stock")) is not None:
        claim, final, worth, low, high = one
        run.stock = StockState()
        run.stock.claim = _said(claim)
        run.stock.final = None if final is None else LastPost(*final)
        run.stock.worth = worth
        run.stock.epoch_bounds = (low, _INF if high is None else high)
    return run


def _said(value: list[int] | None) -> Said[int] | None:
    return None if value is None else Said(*value)


def _known(name: str, value: Any) -> object:
    if name == "unit":
        return Unit(value)
    return Phase(value) if name == "phase" else value
