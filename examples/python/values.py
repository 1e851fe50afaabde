#!/usr/bin/env python3
"""A thermostat: a sensor's thread changes the temperature; observers heat and keep a record.

    values.py

What to look at: the record is a trail of everything that happened, written later by another thread,
without a gap; the heating is switched before the change that asks for it returns.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

try:
    import inturn
except ModuleNotFoundError:  # it is not installed: use the one of this repository
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings/python/src"))
    import inturn


def main() -> None:
    temperature = inturn.Value(18)
    heating = inturn.Value(False)

    def regulate(change: inturn.Change) -> None:
        """Called by whoever changes the temperature, before the change returns."""
        if change.new < 20 and not heating.value:
            heating.value = True
        if change.new >= 22 and heating.value:
            heating.value = False

    def record(change: inturn.Change) -> None:
        """Called by a queue, later and in order."""
        print(f"temperature: {change.old} to {change.new}")

    def measure() -> None:
        """A sensor in a heated room."""
        while heating.value:
            temperature.update(lambda degrees: degrees + 1)

    with temperature, heating, inturn.FIFOQueue("record") as queue:
        thermostat = temperature.observe(regulate, initial=True)
        recorder = temperature.observe(record, queue=queue)
        sensor = threading.Thread(target=measure)
        sensor.start()
        heating.wait_for(lambda is_on: not is_on)
        sensor.join()
        temperature.drain()
        print(f"the heating is off at {temperature.value} degrees")
        recorder.cancel()
        thermostat.cancel()


if __name__ == "__main__":
    main()
