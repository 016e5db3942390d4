#!/usr/bin/env python3
"""An MCP server that does one thing wrong: bad.py FOLDER WHAT, over its standard input and output.

It writes a line into FOLDER/starts each time it begins, and FOLDER/asked when it is to end. Each of its tools says "fine".
"""
import json
import os
import signal
import sys

folder, what = sys.argv[1:]


def say(message):
    sys.stdout.write(json.dumps(dict(message, jsonrpc="2.0")) + "\n")
    sys.stdout.flush()


def tool(name, **more):
    return dict({"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}, **more)


def page(number):
    """Returns the tools of that page, and whether there are more."""
    if what == "talkative":  # 48 MB in all, each of them allowed to be that large
        return [tool("t%d" % (10 * number + i), description="d" * 120000) for i in range(10)], number < 39
    if what == "useless":  # all but the last
        return [tool("t" * 100 + str(i)) for i in range(2000)] + [tool("last")], False
    if what == "flood":  # it would be several GB
        return [{"name": "", "description": "f" * 7000000}], number < 400
    return [tool("fine")], False


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "bad", "version": "1"}}
    if method == "tools/list":
        number = int(params.get("cursor", 0))
        tools, more = page(number)
        return dict({"tools": tools}, **({"nextCursor": str(number + 1)} if more else {}))
    return {"content": [{"type": "text", "text": "fine"}]}


# What cannot be read: the id is before or behind the damage.
DAMAGED = {
    "latin": b'{"jsonrpc": "2.0", "result": {"content": [{"type": "text", "text": "caf\xe9, \\"id\\": 1"}]}, "id": %d}',
    "deep": b'{"jsonrpc": "2.0", "id": %d, "result": {"content": ' + b"[" * 5000 + b"]" * 5000 + b"}}",
    "cut": b'{"jsonrpc": "2.0", "id": %d, "result": {"content": [{"type": "te',
}


def note(name, text):
    with open(os.path.join(folder, name), "a", encoding="utf-8") as file:
        file.write(text)


if what == "stays":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
note("starts", "begun\n")
if what == "babbles":
    print("[bad] listening on standard input\n{ and so on", flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request.get("method") == "tools/call" and what in DAMAGED:
        sys.stdout.buffer.write(DAMAGED[what] % request["id"] + b"\n")
        sys.stdout.flush()
        continue
    if request.get("method") == "tools/call" and what == "mute" and not os.path.exists(os.path.join(folder, "muted")):
        note("muted", "once\n")
        os.close(1)
        continue
    if "id" in request and what != "silent":
        say({"id": request["id"], "result": answer(request["method"], request.get("params", {}))})
    while what == "deaf" and request["method"] == "notifications/initialized":
        say({"id": "d" * 60000, "method": "ping"})
note("asked", "to end\n")
while what == "stays":
    signal.pause()
