#!/usr/bin/python3
"""Tools that ask, that must not run twice, that end when they may, for the tests of the Python worker."""
import pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples/workers/python"))
from flotilla_worker import Answer, Command, Worker

worker = Worker()


@worker.tool("Asks for a name and a colour.", {})
def ask(call):
    try:
        return [call.interrupt("your name?"), call.interrupt({"choose": ["red", "blue"]})]
    except Exception:
        return "caught"


@worker.tool("Pays.", {}, idempotent=False)
def pay(call):
    call.cancelled.wait()
    raise RuntimeError("stopped")


@worker.tool("Waits for a file.", {"properties": {"path": {"type": "string"}}})
def gate(call, path):
    while not pathlib.Path(path).exists() and not call.cancelled.wait(0.02):
        pass
    return "open"


@worker.tool("Tells how far it is, until there is a file.", {"properties": {"path": {"type": "string"}}})
def stream(call, path):
    while not pathlib.Path(path).exists() and not call.cancelled.wait(0.02):
        call.stream("m" * (65 << 10))  # more than a value may have
        call.stream({"done": 0.5})
    return "streamed"


@worker.tool("Says what it is told of the run.", {}, reads=["messages", "nobody"])
def told(call):
    return [list(call.state), call.state["messages"][0]["content"], call.context]


@worker.tool("Notes something, and ends the run.", {})
def note(call):
    answer = Answer([{"type": "text", "text": "Noted."}], artifact={"by": "me"})
    return Command(answer, update={"noted": [1], "messages": "Good."}, goto="end")


@worker.tool("Answers and asks what cannot be sent.", {"properties": {"kind": {"type": "string"}}})
def odd(call, kind):
    if kind == "asks":
        call.interrupt(object())
    if kind == "raises":
        raise ValueError("\ud800")
    if kind == "much":
        return "m" * (17 << 20)
    if kind == "half":
        return Answer("half \ud83d", artifact={"\ud83d": "\ude00" * 99, "whole": "\ud55c\U0001f600"})
    if kind == "nothing":
        return None
    if kind == "raises much":
        raise ValueError("m" * (17 << 20))
    return Answer("", artifact=object())


worker.run()
