"""Uses the onboarding examples as a user does, and checks what they do.

The programs say what happens, a line each: that is what order is checked by. `user` says how they
are used, `run` the rest.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from user import (
    DIALOGS,
    Failure,
    Program,
    Terminal,
    Watcher,
    click,
    dialogs_on_screen,
    expect_all_ends,
    expect_ends,
    expect_equal,
    expect_on_screen,
    press,
    sign_in_dialog,
    until,
    visible,
    xdotool,
)

ROOT = Path(__file__).resolve().parents[2]

# How long a queue that is held is watched: twice what a settled view and a gap take.
HELD = 1.5

# What a program prints when each is accepted with the keyboard.
HEAD = """\
view appeared
presented location
closed location
ended location: finished
view disappeared
shown elsewhere
view appeared
ended camera: finished (already granted)
presented sign-in
"""
TAIL = """\
asking the service
presented service notice
closed service notice
ended service notice: finished
done
view disappeared
"""
PREEMPTED = """\
battery low
closed sign-in
presented urgent notice
closed urgent notice
ended urgent notice: finished
presented sign-in
refused sign-in
closed sign-in
ended sign-in: finished, presented 2 times
"""


# The tests of windows; each is run with each program ------------------------------------------

Start = Callable[..., Program]


def at_sign_in(start: Start, *keys: str) -> Program:
    """Goes as far as the sign-in, and presses keys there."""
    program = start("--fast")
    program.dialog("location", "Return")
    program.elsewhere("Return")
    program.dialog("sign-in", *keys)
    return program


def test_the_keyboard_alone_suffices_and_one_dialog_follows_the_other(start: Start) -> None:
    program = start()
    program.dialog("location", "Return")
    program.elsewhere("Return")
    sign_in_dialog(program, lambda: press("Return"))
    press("type:wrong", "Return")
    program.expect("refused sign-in")
    program.picture_of_guide("dialog", beside=DIALOGS["sign-in"])
    press("type:inturn", "Return")
    program.dialog("service notice", "Return")
    program.expect("done")
    program.window("First run", "done")
    program.picture_of_guide("end")
    press("Return")
    program.end()
    expect_equal(program.printed, HEAD + PREEMPTED + TAIL)


def test_a_hidden_window_holds_the_queue(start: Start) -> None:
    program = start("--fast")
    program.dialog("location", "Return")
    program.elsewhere()
    program.expect_nothing(HELD)
    expect_on_screen()
    press("Return")
    program.expect("view appeared")
    program.dialog("sign-in", "ctrl+q")
    program.end()


def test_a_minimised_window_is_hidden_and_shown_again(start: Start) -> None:
    program = at_sign_in(start)
    screen = visible("First run")[0]
    xdotool("windowminimize", screen)
    program.expect("view disappeared")
    xdotool("windowactivate", screen)
    program.expect("view appeared")
    # The dialog is as it was: it has not ended, and is the only one.
    until("the dialog", lambda: dialogs_on_screen() == ["sign-in"])
    xdotool("windowactivate", "--sync", visible("Sign in")[0])
    press("Escape")
    program.expect("ended sign-in: cancelled")
    program.dialog("service notice", "ctrl+q")
    program.end()


def test_the_mouse_presses_the_buttons(start: Start) -> None:
    def urgent() -> None:
        click(DIALOGS["urgent notice"], 0.5, 42)  # OK

    program = start("--fast")
    program.dialog("location")
    click(DIALOGS["location"], 0.25, 42)  # Not now
    program.elsewhere("Return")
    sign_in_dialog(program, urgent)
    press("type:inturn")
    click(DIALOGS["sign-in"], 0.75, 42)  # Sign in
    program.dialog("service notice")
    click(DIALOGS["service notice"], 0.5, 42)
    program.expect("done")
    program.window("First run", "done", "Return")
    program.end()
    expect_all_ends(
        program,
        location="failed (denied)",
        camera="finished (already granted)",
        sign_in="finished",
        urgent="finished",
        notice="finished",
    )


def test_tab_reaches_every_button(start: Start) -> None:
    def urgent() -> None:
        press("space")

    program = start("--fast")
    program.dialog("location", "shift+Tab", "space")  # Not now
    program.elsewhere("space")
    sign_in_dialog(program, urgent)
    press("Tab", "Tab", "Escape")
    program.dialog("service notice", "space")
    program.expect("done")
    program.window("First run", "done", "space")
    program.end()
    expect_all_ends(
        program,
        location="failed (denied)",
        camera="finished (already granted)",
        sign_in="cancelled",
        urgent="finished",
        notice="finished",
    )


def test_escape_cancels_a_dialog_and_the_next_comes(start: Start) -> None:
    def urgent() -> None:
        press("Escape")

    program = start("--fast")
    program.dialog("location", "Escape")
    program.elsewhere("Return")
    sign_in_dialog(program, urgent)
    press("Escape")
    program.dialog("service notice", "Escape")
    program.expect("done")
    program.window("First run", "cancelled", "Return")
    program.end()
    expect_all_ends(
        program,
        location="cancelled",
        camera="finished (already granted)",
        sign_in="cancelled",
        urgent="cancelled",
        notice="cancelled",
    )


def test_three_wrong_passwords_fail_the_sign_in(start: Start) -> None:
    program = start("--fast")
    program.dialog("location", "Return")
    program.elsewhere("Return")
    sign_in_dialog(program, lambda: press("Return"))
    press("Return")
    program.expect("refused sign-in")
    press("type:no", "Return")
    program.expect("refused sign-in")
    press("Return")
    program.expect("ended sign-in: failed (too many tries), presented 2 times")
    program.dialog("service notice", "ctrl+q")
    program.end()


def test_a_notice_that_is_not_needed_is_not_shown(start: Start) -> None:
    program = start("--fast", "--service-up")
    program.dialog("location", "Return")
    program.elsewhere("Return")
    sign_in_dialog(program, lambda: press("Return"))
    press("type:inturn", "Return")
    program.expect("ended service notice: finished (skipped)")
    program.expect("done")
    program.window("First run", "skipped", "Return")
    program.end()
    if "presented service notice" in program.printed:
        raise Failure("it was shown")


def test_leaving_while_a_dialog_is_open_cancels_all(start: Start) -> None:
    program = at_sign_in(start)
    press("ctrl+q")
    program.end()
    lines = program.printed.splitlines()
    closed = lines.index("closed sign-in")
    if closed > lines.index("ended sign-in: cancelled"):
        raise Failure(f"it ended on screen:\n{program.printed}")
    expect_ends(
        program,
        location="finished",
        camera="finished (already granted)",
        sign_in="cancelled",
        notice="cancelled (never started)",
    )


def test_leaving_while_the_window_is_hidden_cancels_what_waits(start: Start) -> None:
    program = start("--fast")
    program.dialog("location", "Return")
    program.elsewhere("ctrl+q")
    program.end()
    expect_ends(
        program,
        location="finished",
        camera="cancelled (never started)",
        sign_in="cancelled (never started)",
        notice="cancelled (never started)",
    )


# The tests of an urgent notice that takes the place of the open dialog -------------------------


def test_an_urgent_notice_takes_the_place_of_the_open_dialog_which_comes_back(start: Start) -> None:
    program = start()
    program.dialog("location", "Return")
    program.elsewhere("Return")
    program.dialog("sign-in", "type:i")
    program.expect("battery low")
    program.expect("closed sign-in")
    program.dialog("urgent notice")
    expect_on_screen("urgent notice")
    press("Return")
    program.expect("ended urgent notice: finished")
    program.dialog_again("sign-in")
    expect_on_screen("sign-in")
    press("type:nturn", "Return")  # after what was typed before
    program.expect("ended sign-in: finished, presented 2 times")
    program.dialog("service notice", "Return")
    program.expect("done")
    program.window("First run", "done", "Return")
    program.end()
    expect_ends(
        program,
        location="finished",
        camera="finished (already granted)",
        urgent="finished",
        sign_in="finished, presented 2 times",
        notice="finished",
    )


def test_an_urgent_notice_leaves_the_tries_as_they_were(start: Start) -> None:
    program = at_sign_in(start, "Return")
    program.expect("refused sign-in")
    press("type:i")
    program.dialog("urgent notice", "Escape")
    program.dialog_again("sign-in", "Return")
    program.expect("refused sign-in")
    press("Return")
    program.expect("ended sign-in: failed (too many tries), presented 2 times")
    program.dialog("service notice", "Return")
    program.expect("done")
    program.window("First run", "done", "Return")
    program.end()


def test_an_urgent_notice_that_is_open_and_what_waits_for_it_are_cancelled_by_leaving(
    start: Start,
) -> None:
    program = at_sign_in(start, "type:i")
    program.dialog("urgent notice", "ctrl+q")
    program.end()
    found = {line for line in program.printed.splitlines() if line.startswith("ended ")}
    expect_equal(
        "\n".join(sorted(found)),
        """\
ended camera: finished (already granted)
ended location: finished
ended service notice: cancelled (never started)
ended sign-in: cancelled
ended urgent notice: cancelled""",
    )


def test_a_window_that_is_hidden_behind_an_urgent_notice_holds_the_queue(start: Start) -> None:
    program = at_sign_in(start, "type:i")
    program.dialog("urgent notice", "ctrl+e")
    program.expect("view disappeared")
    until("the other window", lambda: bool(visible("Elsewhere")))
    # The notice is still there; its answer lets nothing else come.
    expect_on_screen("urgent notice")
    program.picture("hidden-behind-the-urgent-notice")
    xdotool("windowactivate", "--sync", visible("Battery low")[0])
    press("Return")
    program.expect("ended urgent notice: finished")
    program.expect_nothing(HELD)
    expect_on_screen()
    xdotool("windowactivate", "--sync", visible("Elsewhere")[0])
    program.window("Elsewhere", "elsewhere-again", "Return")
    program.expect("view appeared")
    program.dialog_again("sign-in", "ctrl+q")
    program.end()


def test_a_window_that_is_minimised_behind_an_urgent_notice_brings_it_back(start: Start) -> None:
    program = at_sign_in(start, "type:i")
    program.dialog("urgent notice")
    screen = visible("First run")[0]
    xdotool("windowminimize", screen)
    program.expect("view disappeared")
    program.expect_nothing(HELD)
    expect_on_screen()  # it is minimised with its window
    xdotool("windowactivate", screen)
    program.expect("view appeared")
    expect_on_screen("urgent notice")
    xdotool("windowactivate", "--sync", visible("Battery low")[0])
    press("Return")
    program.expect("ended urgent notice: finished")
    program.dialog_again("sign-in", "ctrl+q")
    program.end()


# The tests in a terminal ----------------------------------------------------------------------


def test_in_a_terminal_one_question_follows_the_other(command: list[str]) -> None:
    program = Terminal(command)
    program.answer("[location] May the app use your location? [y/n] ", "y\n")
    program.answer('Your password (here it is "inturn"): ', "wrong\n")
    program.answer('Your password (here it is "inturn"): ', "inturn\n")
    program.answer("[Return] ", "\n")
    program.end()
    expected = (ROOT / "examples/expected/onboarding/all.out").read_text()
    head, tail = expected.split('"inturn"): inturn')
    again = (
        '"inturn"): wrong\n[sign-in] That is not it; 2 left.\n'
        '[sign-in] Your password (here it is "inturn"): inturn'
    )
    expect_equal(program.shown, head + again + tail)


def test_in_a_terminal_control_d_leaves(command: list[str]) -> None:
    program = Terminal(command)
    program.answer("[location] May the app use your location? [y/n] ", "n\n")
    program.answer('Your password (here it is "inturn"): ', "\x04")
    program.end()
    ends = program.shown.split("How they ended, in order:\n")[1]
    expect_equal(
        ends,
        "  location        failed (denied)\n"
        "  camera          finished (already granted)\n"
        "  sign-in         cancelled\n"
        "  service notice  cancelled (never started)\n",
    )


# The program ------------------------------------------------------------------------------------


@contextmanager
def user_of(command: list[str], shots: Path) -> Iterator[Start]:
    """Starts the program, once, and looks at the screen meanwhile."""
    programs: list[Program] = []
    watcher = Watcher()

    def start(*options: str) -> Program:
        programs.append(Program([*command, *options], shots, watcher))
        return programs[-1]

    try:
        yield start
    except BaseException:
        if programs:
            programs[-1].picture("failed")
        raise
    else:
        watcher.check()
    finally:
        for program in programs:
            program.kill()
        watcher.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description="Tests of the examples' windows.")
    parser.add_argument("--gtk", type=Path, required=True)
    parser.add_argument("--qt", type=Path, required=True)
    parser.add_argument("--terminal", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--times", type=int, default=1)
    arguments = parser.parse_args()
    examples = ROOT / "examples/python"
    windows = {
        "gtk": [str(arguments.gtk)],
        "qt": [str(arguments.qt)],
        "tk": [sys.executable, str(examples / "tk_onboarding.py")],
    }
    terminals = {
        "c": [str(arguments.terminal)],
        "python": [sys.executable, str(examples / "onboarding.py")],
    }
    passed = failed = 0
    for name, test in sorted(globals().items()):
        if not name.startswith("test_"):
            continue
        in_terminal = name.startswith("test_in_a_terminal")
        for kind, command in (terminals if in_terminal else windows).items():
            title = f"{kind}: {name.removeprefix('test_').replace('_', ' ')}"
            if arguments.filter not in title:
                continue
            try:
                for _ in range(arguments.times):
                    if in_terminal:
                        test(command)
                        continue
                    shots = arguments.out / "shots" / kind / name.removeprefix("test_")
                    with user_of(command, shots) as start:
                        test(start)
            except (Failure, subprocess.SubprocessError, OSError) as failure:
                failed += 1
                print(f"FAILED  {title}\n    " + str(failure).replace("\n", "\n    "))
            else:
                passed += 1
                print(f"ok      {title}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
