"""Logs as other tools write them: what is read, and what is said of a file that cannot be."""

from __future__ import annotations

import base64
import json
import math
import os
import struct
from collections.abc import Iterable
from pathlib import Path

import pytest

from headway.errors import InvalidError
from headway.protocol.report import Point
from headway.readers import Log, read_log

LIGHTNING = """epoch,step,train_loss,val_loss
0,49,2.5,
0,99,2.25,
0,99,,2.4
1,149,2.0,
1,199,,NaN
"""
ULTRALYTICS = """      epoch, train/box_loss, train/cls_loss,   val/box_loss,   val/cls_loss, metrics/mAP50(B),  lr/pg0
          0,            1.0,            2.0,            1.5,            2.5,             0.10,   0.001
          1,            0.5,            1.0,            inf,            2.0,             0.20,   0.002
"""
ULTRALYTICS_8_3 = """epoch,time,train/box_loss,val/box_loss
1,12.5,1.0,1.5
2,24.0,0.5,1.25
"""
TENSORS = (
    "SAAAAAAAAAD+kkidCWuA+EJXw9pBGg1icmFpbi5FdmVudDoyUi4KLHRlbnNvcmJvYXJkLnN1bW1hcnkud3JpdGVyLmV2ZW50X2ZpbGVfd3JpdGVy"
    "TxwMc00AAAAAAAAAPWPUpgkAAABA/FTZQSpCCh0KBGxvc3NCCAgBKgQAAMA/SgsKCQoHc2NhbGFycwohCgh2YWxfbG9zc0IICAEiBAAAAD9KCwoJ"
    "CgdzY2FsYXJz2C+VJk8AAAAAAAAAbEdPkwkAAEBA/FTZQRAFKkIKHQoEbG9zc0IICAEqBAAAQD9KCwoJCgdzY2FsYXJzCiEKCHZhbF9sb3NzQggI"
    "ASIEAADAP0oLCgkKB3NjYWxhcnM+XHDqTwAAAAAAAABsR0+TCQAAgED8VNlBEAoqQgodCgRsb3NzQggIASoEAAAAP0oLCgkKB3NjYWxhcnMKIQoI"
    "dmFsX2xvc3NCCAgBIgQAACBASgsKCQoHc2NhbGFyc3a9CGo="
)
"""Three events of two scalars each, kept in tensors: written by TensorBoard's own writer (version 2)."""


def read(tmp_path: Path, name: str, content: str | bytes) -> Log:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_log(path)


def plain(points: Iterable[Point]) -> list[tuple[int, dict[str, float]]]:
    return [(point.step, {name: cell.mean for name, cell in point.metrics.items()}) for point in points]


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def event(step: int, time: float, **scalars: float) -> bytes:
    values = b"".join(
        field(1, field(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", value))
        for tag, value in scalars.items()
    )
    return varint(1 << 3 | 1) + struct.pack("<d", time) + varint(2 << 3) + varint(step) + field(5, values)


def frames(*events: bytes) -> bytes:
    version = varint(1 << 3 | 1) + struct.pack("<d", 1.0) + field(3, b"brain.Event:2")
    return b"".join(struct.pack("<QI", len(data), 0) + data + b"\0\0\0\0" for data in (version, *events))


def test_trainer_state(tmp_path: Path) -> None:
    state = {
        "max_steps": 300,
        "log_history": [
            {"epoch": 0.1, "grad_norm": 1.5, "learning_rate": 5e-5, "loss": 2.5, "step": 10},
            {"epoch": 0.1, "eval_loss": 2.75, "eval_runtime": 1.0, "eval_samples_per_second": 9.0, "step": 10},
            {"epoch": 0.2, "loss": math.nan, "grad_norm": "Infinity", "step": 20},
            {"epoch": 0.2, "train_loss": 2.0, "train_runtime": 60.0, "step": 20},
        ],
    }
    log = read(tmp_path, "trainer_state.json", json.dumps(state, indent=2))
    assert log.total_steps == 300
    first = {"epoch": 0.1, "grad_norm": 1.5, "learning_rate": 5e-5, "loss": 2.5, "eval_loss": 2.75}
    assert plain(log.points)[0] == (10, first)
    assert [point.step for point in log.points] == [10, 20]
    assert math.isnan(log.points[1].metrics["loss"].mean)
    assert log.points[1].metrics["grad_norm"].mean == math.inf
    assert all("train_loss" not in point.metrics for point in log.points)
    assert plain(read_log(tmp_path).points)[0] == plain(log.points)[0]


def test_lightning_metrics(tmp_path: Path) -> None:
    log = read(tmp_path, "metrics.csv", LIGHTNING)
    assert [point.step for point in log.points] == [49, 99, 149, 199]
    assert plain(log.points)[1] == (99, {"epoch": 0.0, "train_loss": 2.25, "val_loss": 2.4})
    assert math.isnan(log.points[3].metrics["val_loss"].mean)
    assert all(math.isnan(point.t) for point in log.points)


def test_ultralytics_results_old_and_new(tmp_path: Path) -> None:
    old = read(tmp_path, "results.csv", ULTRALYTICS)
    assert [point.step for point in old.points] == [0, 1]
    first = plain(old.points)[0][1]
    assert (first["loss"], first["eval_loss"], first["metrics/mAP50(B)"]) == (3.0, 4.0, 0.1)
    assert not math.isfinite(plain(old.points)[1][1]["eval_loss"])
    new = read(tmp_path, "results.csv", ULTRALYTICS_8_3)
    assert [point.t for point in new.points] == [0.0, 11.5]
    assert plain(new.points)[1] == (2, {"train/box_loss": 0.5, "val/box_loss": 1.25, "loss": 0.5, "eval_loss": 1.25})


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_any_table_with_a_step_column(tmp_path: Path, delimiter: str) -> None:
    rows = [["Step", "split", "Loss"], ["1", "train", "3.0"], ["2", "train", "N/A"], ["3.0", "test", "-inf"]]
    log = read(tmp_path, "log.txt", "\ufeff" + "\n".join(delimiter.join(row) for row in rows) + "\n")
    assert plain(log.points) == [(1, {"Loss": 3.0}), (3, {"Loss": -math.inf})]
    assert log.warnings == ("column split holds text (line 2: 'train') and was left out",)


def test_a_table_that_is_still_being_written_or_was_begun_anew(tmp_path: Path) -> None:
    log = read(tmp_path, "log.csv", "step,loss,lr\n1,2.0,0.1\nstep,loss,lr\n\n2,1.5,0.1\n3,1.2")
    assert [point.step for point in log.points] == [1, 2]
    assert log.warnings == ("line 6 is cut off and was left out",)


def test_json_lines(tmp_path: Path) -> None:
    lines = [
        '{"config": {"lr": 0.1}}',
        '{"global_step": 5, "time": 100.0, "train": {"loss": 2.0}, "note": "x", "flag": true}',
        '{"global_step": 6, "time": 101.5, "train": {"loss": "NaN"}}',
        '{"global_st',
    ]
    log = read(tmp_path, "log.jsonl", "\n".join(lines))
    assert [(point.step, point.t, list(point.metrics)) for point in log.points] == [
        (5, 0.0, ["train/loss"]),
        (6, 1.5, ["train/loss"]),
    ]
    assert len(log.warnings) == 2
    array = read(tmp_path, "log.json", '[{"step": 1, "loss": 2}, {"step": 2, "loss": Infinity}]')
    assert plain(array.points) == [(1, {"loss": 2.0}), (2, {"loss": math.inf})]


def test_tensorboards_own_file(tmp_path: Path) -> None:
    log = read(tmp_path, "events.out.tfevents.1700000000.host.1.0", base64.b64decode(TENSORS))
    assert plain(log.points) == [
        (0, {"loss": 1.5, "val_loss": 0.5}),
        (5, {"loss": 0.75, "val_loss": 1.5}),
        (10, {"loss": 0.5, "val_loss": 2.5}),
    ]
    assert [point.t for point in log.points] == [0.0, 1.0, 2.0]


def test_event_files_of_a_folder_are_one_run_and_a_torn_tail_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.1.a").write_bytes(frames(event(1, 10.0, loss=4.0), event(2, 11.0, loss=3.0)))
    second = frames(event(3, 20.0, loss=2.0), event(4, 21.0, loss=1.0))
    (tmp_path / "events.out.tfevents.2.a").write_bytes(second[:-9])
    log = read_log(tmp_path)
    assert plain(log.points) == [(1, {"loss": 4.0}), (2, {"loss": 3.0}), (3, {"loss": 2.0})]
    assert log.points[2].t == 10.0
    assert "cut off" in log.warnings[0]


def test_scalars_written_late_for_an_earlier_step_are_no_rollback_but_a_resume_is(tmp_path: Path) -> None:
    events = [event(step, float(step), loss=1.0) for step in (1, 2, 3, 4)]
    late = event(2, 4.5, val_loss=9.0)
    resumed = [event(step, 10.0 + step, loss=0.5) for step in (3, 4, 5)]
    log = read(tmp_path, "events.out.tfevents.x", frames(*events, late, *resumed))
    assert [point.step for point in log.points] == [1, 2, 3, 4, 3, 4, 5]
    assert log.points[1].metrics.keys() == {"loss", "val_loss"}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", "", "is empty"),
        ("blank.csv", "\n1,2\n", "no header"),
        ("nostep.csv", "loss,acc\n1,2\n", "has no step column: its columns are loss, acc"),
        ("bad.csv", "step,loss\n1,2.0\n2,abc\n", "bad.csv, line 3: loss is 'abc', not a number"),
        ("wide.csv", "step,loss\n1,2.0,3\n2,1.0\n", "wide.csv, line 2: 3 fields, but the header has 2"),
        ("nan.csv", "step,loss\nnan,2.0\n", "line 2: the step is nan"),
        ("hole.csv", "step,loss\n,2.0\n", "line 2: step is blank"),
        ("header.csv", "step,loss\n", "no row with numbers"),
        ("bad.jsonl", '{"step": 1, "loss": 2}\n{oops}\n{"step": 2}\n', "bad.jsonl, line 2: not JSON"),
        ("list.jsonl", '{"step": 1, "loss": 2}\n[1]\n{"step": 2}\n', "line 2 is not an object"),
        ("nothing.jsonl", '{"a": 1}\n', "no object with numbers and a step"),
        ("trainer_state.json", '{\n "log_history": [\n', "line 3: not JSON"),
        ("other.json", '{\n"max_steps": 3}', "no list log_history"),
        ("hist.json", '{\n"log_history": [{"loss": 1}]}', "log_history[0] has no step"),
        ("events.out.tfevents.0", b"\x00" * 64, "is not a TensorBoard event file"),
        ("noise.bin", b"\xff\xfe\x00\x01" * 32, "not a text file in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_says_what_is_wrong_and_where(
    tmp_path: Path, name: str, content: str | bytes, words: str
) -> None:
    with pytest.raises(InvalidError) as caught:
        read(tmp_path, name, content)
    assert words in str(caught.value)
    assert name in str(caught.value)


def test_a_missing_file_and_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="does not exist"):
        read_log(tmp_path / "nowhere.csv")
    with pytest.raises(InvalidError, match="holds no log that is known"):
        read_log(tmp_path)


def test_a_damaged_event_names_its_record(tmp_path: Path) -> None:
    good = frames(event(1, 1.0, loss=1.0))
    bad = struct.pack("<QI", 3, 0) + b"\x2a\xff\x01" + b"\0\0\0\0"
    with pytest.raises(InvalidError, match="record 3"):
        read(tmp_path, "events.out.tfevents.d", good + bad)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("text.csv", "step,loss\n1,abc\n2,1.0\n", "column loss holds text (line 2: 'abc')"),
        ("steps.csv", "step\n1\n2\n", "no row with numbers but those of step"),
        ("wide.csv", "step,loss\n1," + "9" * 200_000 + "\n", "wide.csv, line 2: no table"),
        ("deep.json", "[" * 100_000, "deep.json: not a log"),
        ("digits.jsonl", '{"step": ' + "9" * 5_000 + ', "loss": 1}\n{"step": 2, "loss": 1}\n', "line 1: not a log"),
        ("far.jsonl", '{"step": ' + "9" * 400 + ', "loss": 1}\n', "line 1: the step is inf"),
    ],
)
def test_what_cannot_be_read_says_where(tmp_path: Path, name: str, content: str, said: str) -> None:
    with pytest.raises(InvalidError) as caught:
        read(tmp_path, name, content)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 400


def test_no_file_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidError, match="no regular file"):
        read_log(tmp_path / "pipe")


def test_other_countries_and_systems(tmp_path: Path) -> None:
    log = read(tmp_path, "comma.csv", "step;loss;lr\n1;2,5;1e-4\n2;2,25;0,0001\n")
    assert plain(log.points) == [(1, {"loss": 2.5, "lr": 1e-4}), (2, {"loss": 2.25, "lr": 1e-4})]
    log = read(tmp_path, "wide.csv", "step,loss\r\n1,2.5\r\n".encode("utf-16"))
    assert plain(log.points) == [(1, {"loss": 2.5})]


def test_an_export_of_wandb(tmp_path: Path) -> None:
    header = '"Step","my - run - train/loss","my - run - train/loss__MIN","my - run - train/loss__MAX"\n'
    assert plain(read(tmp_path, "one.csv", header + '"1","2","2","2"\n').points) == [(1, {"train/loss": 2.0})]
    several = read(tmp_path, "two.csv", '"Step","a - loss","b - loss"\n"1","2","3"\n')
    assert plain(several.points) == [(1, {"a - loss": 2.0, "b - loss": 3.0})]


def test_epochs_by_fractions(tmp_path: Path) -> None:
    """Rounded, they would put hundreds of points on one step."""
    log = read(tmp_path, "log.csv", "epoch,loss,lr\n0.0,3,\n0.0,,1\n0.25,2,\n0.5,1,\n")
    assert plain(log.points) == [(0, {"loss": 3.0, "lr": 1.0}), (1, {"loss": 2.0}), (2, {"loss": 1.0})]
    assert "counted as a step" in log.warnings[0]
    log = read(tmp_path, "log.jsonl", '{"epoch": 0.5, "metrics": {"loss": 3}}\n{"epoch": 1, "metrics": {"loss": 2}}\n')
    assert plain(log.points) == [(0, {"loss": 3.0}), (1, {"loss": 2.0})]


def test_events_that_were_converted_have_no_times(tmp_path: Path) -> None:
    log = read(tmp_path, "x.tfevents", frames(*(event(step, 5.0 + step / 1000, loss=1.0) for step in range(30))))
    assert all(math.isnan(point.t) for point in log.points)
    assert "conversion" in log.warnings[0]
    log = read(tmp_path, "x.tfevents", frames(*(event(step, 5.0 + step, loss=1.0) for step in range(30))))
    assert log.points[-1].t == 29.0
