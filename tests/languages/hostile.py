#!/usr/bin/python3
"""A broker that sends nonsense to a tool worker, and looks whether it still works.

    hostile.py ROUNDS|SECONDSs SEED TOOL JSON-ARGUMENTS ANSWER PROGRAM...

Each round sends some bad messages, then a PING and a CALL of the tool; the worker must answer both, and
on SIGTERM leave with BYE and status 0. Exit status 1 and a message when it does not.
"""
import json, os, random, signal, struct, subprocess, sys, tempfile, time

import msgpack, zmq

HELLO, WELCOME, PING, PONG, CALL, RESULT, RESULT_ACK, BUSY, CANCEL, BYE, ERROR, SEEK = 1, 2, 3, 4, 6, 9, 10, 11, 12, 17, 18, 24
WAIT_S = 30
REFUSED = [bytes.fromhex(text) for text in (  # docs/protocol.md, "Headers to refuse"
    "464c01", "584c01030000000080", "464c02030000000080", "464c01fe0000000080", "464c01030000000180",
    "464c010300000000", "464c0103000000008080", "464c010300000000dfffffffff", "464c01030000000081a16101",
    "464c0103000000008203010301", "464c0103000000008103ff", "464c010300000000810805", "464c0103000000008101a3612062",
    "464c0103000000008111a26162", "464c01070000000080", "464c01030000000081289191919191c0")]
BODIES = [bytes.fromhex(text) for text in (  # "Bodies to refuse"
    "c1", "d40100", "8101c0", "82a16101a16102", "a1ff", "a3eda080", "dd10000000", "a361", "c0c0", "")]


def header(kind, fields, flags=0):
    return b"FL\1" + bytes((kind, flags, 0, 0, 0)) + msgpack.packb(fields)


class Nonsense:
    def __init__(self, seed):
        self.random, self.count = random.Random(seed), 0

    def value(self, depth=0):
        pick = self.random.randrange(10 if depth < 4 else 7)
        if pick < 7:
            return self.random.choice((None, True, -1, 0, 3, 1 << 63, 2.5, float("nan"), "", "x", "e\u0301" * 50, b"\xff"))
        if pick < 9:
            return [self.value(depth + 1) for _ in range(self.random.randrange(4))]
        return {self.random.choice(("a", "tool_call", "args", "middleware", "__proto__", 7)): self.value(depth + 1)
                for _ in range(self.random.randrange(4))}

    def body(self):
        pick = self.random.randrange(5)
        if pick == 0:
            return self.random.choice(BODIES)
        if pick == 1:
            return self.random.choice((b"\x91", b"\x81\xa1a")) * self.random.randrange(1, 20000) + b"\xc0"
        if pick == 2:
            return self.random.randbytes(self.random.randrange(40))
        if pick == 3:
            return msgpack.packb({"run": "r", "tool_call": {"name": "x", "id": "i", "args": self.value()},
                                  "answers": self.value()})
        return msgpack.packb(self.value())

    def head(self):
        pick, kind = self.random.randrange(6), self.random.randrange(0, 28)
        if pick == 0:
            return self.random.choice(REFUSED)
        if pick == 1:
            return self.random.randbytes(self.random.randrange(40))
        fields = {self.random.randrange(0, 70): self.value() for _ in range(self.random.randrange(5))}
        if pick > 2:
            self.count += 1
            fields[1] = f"c{self.random.randrange(self.count + 1)}"
            kind = self.random.choice((CALL, CALL, CANCEL, RESULT_ACK, SEEK, kind))
        frame = bytearray(header(kind, fields, self.random.randrange(256)))
        if pick == 5 and len(frame) > 9:
            frame[self.random.randrange(3, len(frame))] ^= 1 << self.random.randrange(8)
        return bytes(frame[:self.random.randrange(len(frame))] if pick == 4 and self.random.random() < 0.1 else frame)

    def message(self):
        frames = [self.head()] + [self.body() for _ in range(self.random.choice((0, 1, 2, 2, 2, 3, 12)))]
        # ERROR with STUCK ends a worker, and GOAWAY or NO_SESSION its session: rarely those.
        if frames[0][3:4] in (b"\x12", b"\x10") and self.random.random() < 0.98:
            return self.message()
        if frames[0][3:4] == b"\x12" and b"\x0e\x0e" in frames[0]:
            return self.message()
        return frames


class Broker:
    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory()
        endpoint = f"ipc://{self.folder.name}/broker"
        self.socket, self.peer, self.said_bye = zmq.Context.instance().socket(zmq.ROUTER), None, False
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.bind(endpoint)
        self.sent = []
        self.log = open(os.path.join(self.folder.name, "log"), "w+")
        self.worker = subprocess.Popen(program, stderr=self.log, env={**os.environ, "FLOTILLA_BROKER": endpoint})

    def fail(self, why):
        self.log.seek(0)
        sys.stderr.write(self.log.read()[-4000:])
        for frames in self.sent[-20:]:
            sys.stderr.write(" | ".join(frame.hex()[:200] for frame in frames) + "\n")
        self.worker.kill()
        sys.exit(f"hostile: {why}")

    def send(self, *frames):
        self.sent = self.sent[-50:] + [frames]
        self.socket.send_multipart([self.peer, *frames])

    def receive(self, ms):
        """The next message that is not HELLO: (kind, head, bodies), or None after ms."""
        if not self.socket.poll(ms):
            if self.worker.poll() is not None:
                self.fail(f"the worker has ended with status {self.worker.returncode}")
            return None
        peer, frame, *bodies = self.socket.recv_multipart()
        head = msgpack.unpackb(frame[8:], strict_map_key=False)
        if frame[3] == HELLO:
            self.peer = peer
            self.send(header(WELCOME, {17: "f" * 32, 18: "hostile", 20: 1, 21: 1, 22: 300, 23: 1500}))
        elif frame[3] == PING:
            self.send(header(PONG, {}))
        elif frame[3] == RESULT and 1 not in head:
            self.fail("a RESULT of no call")
        elif frame[3] == RESULT and random.random() < 0.9:
            self.send(header(RESULT_ACK, {1: head[1]}))
        self.said_bye = self.said_bye or frame[3] == BYE
        return frame[3], head, bodies

    def until(self, holds, why, again=None):
        end, due = time.monotonic() + WAIT_S, 0
        while time.monotonic() < end:
            if again and time.monotonic() > due:
                due = time.monotonic() + 0.5
                again()
            message = self.receive(100)
            if message and holds(*message):
                return
        self.fail(why)

    def check(self, number, tool, args, answer):
        self.until(lambda kind, *_: kind == PONG, "PING is not answered", lambda: self.send(header(PING, {})))
        call = {"run": "r", "thread": "t", "tool_call": {"name": tool, "args": args, "id": "i", "type": "tool_call"}}

        def is_answer(kind, head, bodies):
            if kind != RESULT or head[1] != f"check-{number}":
                return False
            if msgpack.unpackb(bodies[0])["commands"][0]["update"]["messages"][0]["content"] != answer:
                self.fail(f"a wrong answer: {bodies[0]}")
            return True
        self.until(is_answer, "CALL is not answered", lambda: self.send(
            header(CALL, {1: f"check-{number}", 6: f"tool:{tool}", 7: 60000}),
            msgpack.packb({"agent": "a", "tools": [], "middleware": []}), msgpack.packb(call)))


def main(much, seed, tool, args, answer, *program):
    nonsense, broker, number = Nonsense(int(seed)), Broker(program), 0
    end = time.monotonic() + float(much[:-1]) if much.endswith("s") else None
    broker.until(lambda *_: broker.peer, "no HELLO came")
    while time.monotonic() < end if end else number < int(much):
        for _ in range(nonsense.random.randrange(1, 60)):
            broker.send(*nonsense.message())
        broker.check(number, tool, json.loads(args), answer)
        number += 1
    broker.worker.send_signal(signal.SIGTERM)
    broker.until(lambda *_: broker.said_bye, "no BYE came")
    if broker.worker.wait(WAIT_S) != 0:
        broker.fail(f"status {broker.worker.returncode} at the end")
    print(f"{number} rounds")


main(*sys.argv[1:])
