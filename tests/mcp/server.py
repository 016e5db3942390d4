#!/usr/bin/env python3
"""An MCP server whose tools show what a client does: over its standard input and output, or over HTTP.

    server.py FOLDER             a JSON-RPC message a line
    server.py FOLDER http KEY    writes its port to FOLDER/port; wants "Authorization: Bearer KEY"

It writes down in FOLDER: `starts`, a line each time it begins; `said`, each message of the client's that
is no request for a tool. FOLDER/more being there, it has one more tool; FOLDER/broken: it ends at once; FOLDER/sample:
a session that it does not know is a bad request.
"""
import http.server
import json
import os
import sys
import threading
import time
import uuid

folder = sys.argv[1]
lock = threading.Lock()
sessions = set()
calls = {}  # by idempotency key, how often each was made
waits = {}  # by request id, what a slow call waits for
asked = {}  # by id, what the client answered to a request of ours


def path(name):
    return os.path.join(folder, name)


def note(name, line):
    with lock, open(path(name), "a", encoding="utf-8") as file:
        file.write(line + "\n")


def schema(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT = {"type": "string"}
READS = {"readOnlyHint": True}
TOOLS = [
    {"name": "echo", "description": "Says it again.", "inputSchema": schema(text=TEXT), "annotations": READS},
    {"name": "fail", "title": "Fails", "inputSchema": schema(), "annotations": READS},
    {"name": "wrong", "inputSchema": schema(), "annotations": READS},
    {"name": "many.blocks", "inputSchema": schema(), "annotations": READS},
    {"name": "facts", "inputSchema": schema(), "annotations": READS},
    {"name": "slow", "inputSchema": schema(), "annotations": READS},
    {"name": "die", "inputSchema": schema(), "annotations": READS},
    {"name": "count", "inputSchema": {"type": "object"}},
    {"name": "ask", "inputSchema": schema(), "annotations": READS},
    {"name": "grow", "inputSchema": schema(), "annotations": READS},
    {"name": "huge", "inputSchema": schema(), "annotations": READS},
    {"name": "forget", "inputSchema": schema(), "annotations": READS},
    {"name": "pester", "inputSchema": schema(), "annotations": READS},
    {"name": "unusable", "inputSchema": {"type": "object", "properties": 3, "allOf": "x"}},
    {"name": "x" * 70, "inputSchema": schema()},
]


def tools():
    more = {"name": "more", "inputSchema": schema(), "annotations": READS}
    return TOOLS + ([more] if os.path.exists(path("more")) else [])


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def blocks():
    return {"content": [
        {"type": "text", "text": "look"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "Yg==", "mimeType": "application/pdf"}},
        {"type": "resource_link", "uri": "https://x/c", "name": "c"},
    ]}


def run(name, params, request, send):
    if name == "echo":
        return text(params["arguments"]["text"])
    if name == "fail":
        return {"isError": True, "content": [{"type": "text", "text": "no such order"}]}
    if name == "many.blocks":
        return blocks()
    if name == "facts":
        return {"content": [], "structuredContent": {"height": 3}}
    if name == "slow":
        gate = waits[request] = threading.Event()
        note("slow", str(request))
        gate.wait(60)
        return text("late")
    if name == "die":
        os._exit(3)
    if name == "count":
        key = params["_meta"]["idempotencyKey"]
        calls[key] = calls.get(key, 0) + 1
        return text(str(calls[key]))
    if name == "ask":
        send({"jsonrpc": "2.0", "id": "p1", "method": "ping"})
        send({"jsonrpc": "2.0", "id": 77, "method": "sampling/createMessage", "params": {}})
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}})
        while len(asked) < 2:
            time.sleep(0.01)
        return text(json.dumps([asked["p1"], asked[77]["error"]["code"]]))
    if name == "grow":
        with open(path("more"), "w", encoding="utf-8"):
            pass
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return text("grown")
    if name == "huge":
        return text("h" * (9 << 20))
    if name == "forget":
        sessions.clear()
        return text("forgotten")
    if name == "more":
        return text("more of it")
    return None


def page(cursor):
    """Three tools a page."""
    first = int(cursor or 0)
    result = {"tools": tools()[first:first + 3]}
    if first + 3 < len(tools()):
        result["nextCursor"] = str(first + 3)
    return result


def answer(message, send):
    """Returns the response to a request."""
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "test", "version": "1"}}
    elif method == "tools/list":
        result = page(params.get("cursor"))
    elif method == "tools/call":
        result = run(params["name"], params, message["id"], send)
    else:
        result = None
    if result is None:
        return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "unknown: " + str(params.get("name"))}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def take(message, send):
    """Returns the response to a message, or None where there is none."""
    if message.get("method") == "notifications/cancelled":
        note("said", "cancelled")
        gate = waits.get(message["params"]["requestId"])
        if gate:
            gate.set()
        return None
    if "method" not in message:
        if message["id"] == "pest" and "pest" not in asked:
            note("pestered", "begun")
        asked[message["id"]] = message.get("result", message)
        return None
    if "id" not in message:
        note("said", message["method"])
        return None
    return answer(message, send)


def over_stdio():
    def send(message):
        with lock:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    def work(message):
        response = take(message, send)
        if response:
            send(response)

    print("this line is no message", flush=True)
    print("a word on standard error", file=sys.stderr, flush=True)
    for line in sys.stdin:
        threading.Thread(target=work, args=(json.loads(line),), daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with JSON, and with a stream to calls of tools."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self):
        note("said", "DELETE")
        self.reply(200)

    def stream(self, message):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()

        def send(one):
            self.wfile.write(b": a comment\n\nevent: message\ndata: " + json.dumps(one).encode() + b"\n\n")
            self.wfile.flush()

        send(take(message, send))
        self.close_connection = True

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = message.get("method")
        if self.headers.get("Authorization") != "Bearer " + sys.argv[3]:
            self.reply(401, ("who are you, " + str(self.headers.get("Authorization")) + "?").encode())
        elif method == "initialize":
            session = uuid.uuid4().hex
            sessions.add(session)
            note("starts", session)
            self.reply(200, json.dumps(take(message, None)).encode(), Content_Type="application/json", Mcp_Session_Id=session)
        elif self.headers.get("Mcp-Session-Id") not in sessions:
            if os.path.exists(path("sample")):  # as the SDK's samples, which many servers are made after
                self.reply(400, b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}')
            else:
                self.reply(404, b"no such session")
        elif self.headers.get("MCP-Protocol-Version") != "2025-06-18":
            self.reply(400, b"which revision?")
        elif method == "tools/call" and message["params"]["name"] == "pester":
            self.reply(200, json.dumps([{"jsonrpc": "2.0", "id": "pest", "method": "ping"}] * 20000).encode())
        elif method == "tools/call":
            self.stream(message)
        else:
            response = take(message, None)
            if response is None:
                self.reply(202)
            else:
                self.reply(200, json.dumps(response).encode(), Content_Type="application/json")


def over_http():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with open(path("port.new"), "w", encoding="utf-8") as file:
        file.write(str(server.server_address[1]))
    os.rename(path("port.new"), path("port"))
    server.serve_forever()


if os.path.exists(path("broken")):
    print("the key is not valid", file=sys.stderr)
    sys.exit(4)
if len(sys.argv) > 2:
    over_http()
else:
    note("starts", "begun")
    over_stdio()
