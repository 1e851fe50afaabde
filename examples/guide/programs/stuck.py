"""A queue that is stuck, and what the library says about it."""

import threading

import inturn

told = threading.Event()
forgotten = []


def tell(report: inturn.Report) -> None:
    print(report.kind.name, report.message)
    told.set()


def upload(token: inturn.Token) -> None:
    forgotten.append(token)  # the callback that would finish it never comes


inturn.set_stall_limit(0.2)  # seconds; on a terminal it is one without this
inturn.set_report_handler(tell)
queue = inturn.FIFOQueue("uploads")
queue.options(label="photo 1").enqueue(upload)
queue.options(label="photo 2").enqueue(upload)
told.wait(10)

for operation in queue.operations():
    print(f"{operation.label} is {operation.state.name.lower()}")
queue.destroy()
