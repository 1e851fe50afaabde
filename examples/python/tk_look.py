"""The look of the Tk example: its style, and the list of its questions."""

from __future__ import annotations

import math
import tkinter as tk
from tkinter import ttk
from typing import Any, Callable, ClassVar

BACK, CARD, TEXT, DIM, LINE = "#f6f7f9", "#ffffff", "#1f2328", "#5f6772", "#dfe3e8"
BLUE, BLUE_PRESSED, BLUE_BACK, GREEN, RED = ("#2563eb", "#1d4ed8", "#eaf1fe", "#18794e", "#b42318")
RADIUS = 8


def mixed(under: str, over: str, cover: float) -> str:
    """A colour below another one that covers it by this much, 0 to 1."""
    cover = min(max(cover, 0.0), 1.0)
    parts = ((int(under[at : at + 2], 16), int(over[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(low + (high - low) * cover):02x}" for low, high in parts)


def rounded(root: tk.Tk, fill: str, line: str, width: float = 1) -> tk.PhotoImage:
    """A square with round corners, whose middle ttk stretches."""
    size = 2 * RADIUS + 4
    image = tk.PhotoImage(master=root, width=size, height=size)
    for y in range(size):
        for x in range(size):
            across, down = (abs(at + 0.5 - size / 2) - 2 for at in (x, y))
            inside = RADIUS + 0.5 - math.hypot(max(across, 0), max(down, 0))
            image.put(mixed(mixed(BACK, line, inside), fill, inside - width), (x, y))
    return image


def nested(*names: str) -> Any:
    """A layout of elements, each inside the one before it."""
    name, *inner = names
    options: dict[str, Any] = {"sticky": "nsew"}
    if inner:
        options["children"] = nested(*inner)
    return [(name, options)]


def make_style(root: tk.Tk) -> list[tk.PhotoImage]:
    """Gives the program its style, which lasts as long as the images do."""
    style = ttk.Style(root)
    style.theme_use("clam")
    images = []

    def box(fill: str, line: str, width: float = 1) -> tk.PhotoImage:
        images.append(rounded(root, fill, line, width))
        return images[-1]

    def button(name: str, fill: str, over: str, focus: str, text: str) -> None:
        style.element_create(
            f"{name}.box",
            "image",
            box(fill, fill),
            ("disabled", box("#eceef1", "#eceef1")),
            ("focus", box(fill, focus, 2)),
            ("active", box(over, over)),
            border=RADIUS,
            padding=0,
            sticky="nsew",
        )
        style.layout(name, nested(f"{name}.box", "Button.padding", "Button.label"))
        style.configure(name, padding=(18, 10), width=0, foreground=text, anchor="center")
        style.configure(name, font=("DejaVu Sans", 11, "bold"))
        style.map(name, foreground=[("disabled", "#8a929d")])

    style.configure(".", background=BACK, foreground=TEXT, font=("DejaVu Sans", 11))
    style.configure("Title.TLabel", font=("DejaVu Sans", 20, "bold"))
    style.configure("Heading.TLabel", font=("DejaVu Sans", 15, "bold"))
    style.configure("Dim.TLabel", foreground=DIM)
    style.configure("Hint.TLabel", foreground=RED)
    button("TButton", "#e4e8ed", "#d6dbe2", TEXT, TEXT)
    button("Default.TButton", BLUE, BLUE_PRESSED, "#0f2a6b", "#ffffff")
    style.element_create(
        "Field.box",
        "image",
        box(CARD, "#b8bfc8"),
        ("focus", box(CARD, BLUE, 2)),
        border=RADIUS,
        padding=0,
        sticky="nsew",
    )
    style.layout("TEntry", nested("Field.box", "Entry.padding", "Entry.textarea"))
    style.configure("TEntry", padding=9)
    style.element_create("Card.box", "image", box(CARD, LINE), border=RADIUS, sticky="nsew")
    style.layout("Card.TFrame", nested("Card.box"))
    return images


class Bar:
    """Shows the overall progress: thinner than ttk's own."""

    def __init__(self, parent: tk.Misc) -> None:
        self.frame = tk.Frame(parent, background=LINE, width=476, height=6)
        self.done = tk.Frame(self.frame, background=BLUE)

    def set(self, part: float) -> None:
        """Sets how much is done, 0 to 1."""
        self.done.place(relwidth=part, relheight=1)


class StepList:
    """Each interaction, and how far it is."""

    LOOKS: ClassVar = {
        "waiting": ("○", DIM, CARD),
        "shown": ("●", BLUE_PRESSED, BLUE_BACK),
        "good": ("✓", GREEN, CARD),
        "bad": ("✕", RED, CARD),
    }

    def __init__(self, parent: tk.Misc) -> None:
        self.frame = ttk.Frame(parent, style="Card.TFrame", padding=(2, RADIUS))
        self.rows: dict[str, list[tk.Label]] = {}

    def set(self, label: str, state: str, text: str) -> None:
        """`state` is one of LOOKS, `text` the same in words; the first time adds a row."""
        if label not in self.rows:
            self.rows[label] = self.add(label)
        mark, colour, back = self.LOOKS[state]
        shown = self.rows[label]
        for part, written in zip(shown, (mark, label.capitalize(), text)):
            part.configure(text=written, background=back, foreground=colour)
        shown[1].configure(foreground=TEXT)
        shown[0].master.configure(background=back)  # type: ignore[call-arg]

    def add(self, label: str) -> list[tk.Label]:
        row = tk.Frame(self.frame, padx=14, pady=10)
        row.pack(fill="x")
        font = ("DejaVu Sans", 11)
        parts = [tk.Label(row, font=font, anchor="w") for _ in range(3)]
        parts[0].configure(width=2)
        for part, side in zip(parts, ("left", "left", "right")):
            part.pack(side=side)  # type: ignore[arg-type]
        return parts


def place(window: tk.Toplevel | tk.Tk, over: tk.Tk | None = None) -> None:
    """Puts a window in the middle of another, or of the screen, and fixes its size."""
    window.update_idletasks()
    width, height = window.winfo_reqwidth(), window.winfo_reqheight()
    if over is None:
        x = (window.winfo_screenwidth() - width) // 2
        y = (window.winfo_screenheight() - height) // 2
    else:
        x = over.winfo_rootx() + (over.winfo_width() - width) // 2
        y = over.winfo_rooty() + (over.winfo_height() - height) // 2
    window.geometry(f"+{max(0, x)}+{max(0, y)}")
    window.resizable(False, False)


def focus_then(widget: tk.Misc, call: Callable[[], None]) -> None:
    """Gives a widget the keyboard focus, and calls a function when it has it."""

    def on_focus(_event: object) -> None:
        widget.unbind("<FocusIn>")
        call()

    widget.bind("<FocusIn>", on_focus)
    widget.focus_set()
