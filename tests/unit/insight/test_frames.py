"""Where a stack stands: the user's own innermost frame, whatever lies below it."""

from __future__ import annotations

import faulthandler
import tempfile
import threading
import traceback

from headway.insight.frames import frames, main_thread, standing_at, where

HUNG = """  File "/home/ada/train.py", line 120, in <module>
    main()
  File "/home/ada/train.py", line 88, in train_step
    loss.backward()
  File "/opt/venv/lib/python3.12/site-packages/torch/_tensor.py", line 581, in backward
    torch.autograd.backward(
  File "/opt/venv/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py", line 2501, in all_reduce
    work.wait()
"""


def test_the_users_frame_is_named_and_what_it_has_called() -> None:
    assert where(HUNG) == "train.py:88 in train_step, inside torch/distributed/distributed_c10d.py:2501 in all_reduce"


def test_a_stack_of_this_very_function() -> None:
    stack = "".join(traceback.format_stack())
    frame = standing_at(stack)
    assert frame is not None
    assert frame.function == "test_a_stack_of_this_very_function"
    assert where(stack) == frame.place


def test_faulthandlers_dump_is_read_from_the_main_thread() -> None:
    other = threading.Event()
    thread = threading.Thread(target=other.wait, args=(10,))
    thread.start()
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file=file, all_threads=True)
        file.seek(0)
        stack = file.read()
    other.set()
    thread.join()
    frame = standing_at(stack)
    assert frame is not None
    assert frame.function == "test_faulthandlers_dump_is_read_from_the_main_thread"
    shown = main_thread(stack)
    assert shown[-1].endswith(" in test_faulthandlers_dump_is_read_from_the_main_thread")
    assert "Thread 0x" in stack
    assert not any("Thread 0x" in line or "in wait" in line for line in shown)
    assert main_thread(HUNG) == HUNG.splitlines()


def test_a_stack_without_any_frame_of_the_user_names_the_innermost() -> None:
    stack = '  File "/usr/lib/python3.12/runpy.py", line 88, in _run_code\n'
    assert where(stack) == "runpy.py:88 in _run_code"


def test_what_is_no_stack_says_nothing() -> None:
    assert frames("") == []
    assert where("Segmentation fault") is None
