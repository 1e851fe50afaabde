"""Saves in order inside a TaskGroup; when one fails, the group cancels the rest."""

import asyncio

import inturn


async def save(text: str) -> str:
    await asyncio.sleep(0.01)  # stands for the disk
    if text == "broken":
        raise ValueError("this text cannot be saved")
    print("saved", text)
    return text


async def main() -> None:
    queue = inturn.FIFOQueue("saves")
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(queue.run(save, text)) for text in ("a", "b", "c")]
    print("the group has", " ".join(task.result() for task in tasks))

    try:
        async with asyncio.TaskGroup() as group:
            for text in ("d", "broken", "e"):
                group.create_task(queue.run(save, text))
    except Exception as failed:  # an ExceptionGroup
        print(f"the group failed: {failed}")

    await queue.run(save, "f")  # the queue continues
    queue.destroy()


asyncio.run(main())
