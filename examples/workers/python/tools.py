#!/usr/bin/python3
"""Two tools for the agents of a fleet: README.md says how to run them."""
import asyncio

from flotilla_worker import BadArguments, Worker

worker = Worker(slots=8)


@worker.tool("Turns a text around.", {"properties": {"text": {"type": "string"}}, "required": ["text"]})
def reverse(call, text):  # in a thread of its own
    return text[::-1]


@worker.tool("Waits, then says so.", {"properties": {"seconds": {"type": "number"}}, "required": ["seconds"]})
async def wait(call, seconds):  # on the loop: it must never block, and is stopped at an await
    if seconds > 3600:
        raise BadArguments("an hour is the most")
    await asyncio.sleep(seconds)
    return f"{seconds} seconds are over"


worker.run()
