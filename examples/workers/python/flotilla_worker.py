"""A tool worker for Flotilla, written after docs/protocol.md. tools.py shows its use.

    worker = Worker(slots=8)
    @worker.tool("Adds two numbers.", {"properties": {"a": {"type": "integer"}}})
    def add(call, a): ...
    worker.run()
"""
import asyncio, inspect, json, logging, os, pathlib, random, re, secrets, signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

import msgpack, zmq, zmq.asyncio

(HELLO, WELCOME, PING, PONG, CREDIT, CALL, CALL_ACK, PROGRESS, RESULT, RESULT_ACK, BUSY, CANCEL, ANNOUNCE,
 RELEASE, DRAIN, GOAWAY, BYE, ERROR, PROBE, OFFER, WITHDRAW, EVENT, STATS, SEEK, WANTED) = range(1, 26)
RESEND, ONCE, QUIET = 1, 2, 16  # flags
NO_SESSION, EXPIRED, CANCELLED, WORKER_LOST, STUCK = 4, 6, 8, 9, 14
RESEND_S, RESEND_S_MAX, LIVENESS_S, DEADLINE_MS, KEPT_MAX, DONE_S = 1, 30, 1.5, 600000, 4096, 600
BODY_BYTES_MAX, MESSAGE_MAX = 16 << 20, 4096
VALUE_BYTES_MAX, VALUES_MAX, VALUES_BYTES_MAX = 64 << 10, 1000, 1 << 20  # of call.stream: each, and in a second
FIELDS = {  # those of the header that a worker reads or writes: key, type
    "call_id": (1, str), "run": (2, str), "service": (6, str), "deadline_ms": (7, int), "seq": (10, int),
    "credit": (11, int), "topic": (13, str), "code": (14, int),
    "reason": (15, str), "session": (17, str), "name": (18, str), "role": (19, int), "protocol_min": (20, int),
    "protocol_max": (21, int), "heartbeat_ms": (22, int), "liveness_ms": (23, int), "load": (24, int),
    "capacity": (25, int), "idempotency_key": (26, str), "services": (27, list), "calls": (28, list),
    "probes": (33, int)}
NAMES = {key: name for name, (key, _) in FIELDS.items()}
REQUIRED = {WELCOME: ("heartbeat_ms", "liveness_ms"), ERROR: ("code",),
            **dict.fromkeys((CALL, RESULT_ACK, CANCEL, PROBE), ("call_id",))}
JSON_TYPES = {"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,),
              "object": (dict,), "null": (type(None),)}
BLOCKS = {"text", "text-plain", "image", "image_url", "audio", "video", "file", "document", "search_result", "json"}
log = logging.getLogger("flotilla")


class BadArguments(ValueError):
    """The model is told what is wrong with its arguments."""


class Answer:
    """A tool may return it: content is a text, a list of content blocks, or anything else, as JSON. No model sees
    the artifact."""

    def __init__(self, content, artifact=None):
        self.content, self.artifact = content, artifact


class Command:
    """A tool may return it: answer is what it would return otherwise, update has fields of the run's state (its
    messages come behind the answer), goto is the node where the run goes on."""

    def __init__(self, answer, update=None, goto=None):
        self.answer, self.update, self.goto = answer, update, goto


class Interrupt(BaseException):
    """Carries what call.interrupt() asks; not to be caught by a tool's `except Exception`."""


class Lost(Exception):
    """The session is over; another one begins."""


def endpoints():
    """FLOTILLA_BROKER, or the fleet that `flotilla up` runs in this folder or one above it."""
    if "FLOTILLA_BROKER" in os.environ:
        return os.environ["FLOTILLA_BROKER"].split(",")
    for folder in (here := pathlib.Path.cwd(), *here.parents):
        if (file := folder / ".flotilla/fleet.json").exists():
            return json.loads(file.read_text())["brokers"]
    return ["tcp://127.0.0.1:7700"]


def keys():
    """FLOTILLA_KEY, a file; FLOTILLA_BROKER_KEY, a file or the key: docs/security.md."""
    def read(path, half):
        return re.search(half + r'-key\s*=\s*"(.{40})"', pathlib.Path(path).read_text())[1].encode()
    ours, theirs = os.environ.get("FLOTILLA_KEY"), os.environ.get("FLOTILLA_BROKER_KEY")
    if ours and theirs:
        return (read(ours, "public"), read(ours, "secret"),
                read(theirs, "public") if os.path.exists(theirs) else theirs.encode())
    if ours or theirs:
        raise SystemExit("FLOTILLA_KEY and FLOTILLA_BROKER_KEY go together")


def unpack(data, keys=str):
    def pairs(items):
        if len(dict(items)) < len(items) or not all(type(key) is keys for key, _ in items):
            raise ValueError("a key that comes twice, or of another type")
        return dict(items)

    def ext(code, _):
        raise ValueError(f"ext type {code}")
    return msgpack.unpackb(data, strict_map_key=False, object_pairs_hook=pairs, ext_hook=ext)


def encode(kind, flags=0, **fields):
    return b"FL\1" + bytes((kind, flags, 0, 0, 0)) + msgpack.packb({FIELDS[n][0]: v for n, v in fields.items() if v})


def decode(frame):
    if frame[:3] != b"FL\1" or any(frame[5:8]):
        raise ValueError("no header of version 1")
    fields = {NAMES[key]: value for key, value in unpack(frame[8:], int).items() if key in NAMES}
    for name, value in fields.items():
        good = {str: lambda v: name == "reason" or re.fullmatch("[!-~]+", v), int: lambda v: v >= 0, list: lambda v: True}
        if type(value) is not FIELDS[name][1] or not good[type(value)](value):
            raise ValueError(f"{name}: {value!r}")
    if any(name not in fields for name in REQUIRED.get(frame[3], ())):
        raise ValueError("a field is missing")
    return frame[3], frame[4], fields


def check(function, schema, args):
    """Types of arguments, not deeper, and what the function takes."""
    for name, value in args.items():
        wanted = schema.get("properties", {}).get(name, {}).get("type")
        if type(wanted) is str and type(value) not in JSON_TYPES[wanted]:
            raise BadArguments(f"{name} must be of type {wanted}, not {value!r}")
    try:
        inspect.signature(function).bind(None, **args)
    except TypeError as error:
        raise BadArguments(str(error)) from None
    return args


def content_of(value):
    def is_block(item):
        return type(item) is dict and type(item.get("type")) is str and item["type"] in BLOCKS
    if type(value) is str or type(value) is list and value and all(map(is_block, value)):
        return value
    return json.dumps(value)


def command_of(message, value):
    """What a tool returned, with the message that answers its call."""
    command = value if isinstance(value, Command) else Command(value)
    answer = command.answer if isinstance(command.answer, Answer) else Answer(command.answer)
    message = {**message, "content": content_of(answer.content)}
    if answer.artifact is not None:
        message["artifact"] = answer.artifact
    update = dict(command.update or {})
    more = update.get("messages") or []
    update["messages"] = [message, *(more if type(more) is list else [more])]
    return {"update": update, "goto": command.goto}


def pack_body(value):
    return msgpack.packb(value, unicode_errors="replace")  # a str may have half a character; a body may not


def fault(error):
    message = str(error)[:MESSAGE_MAX].encode(errors="replace").decode()
    return {"fault": {"type": type(error).__name__, "message": message, "retryable": isinstance(error, OSError)}}


class Call:
    """One call of a tool, its first argument. A tool in a thread looks at `cancelled` now and then."""

    def __init__(self, head, flags):
        self.id, self.once = head["call_id"], flags & ONCE
        self.topic, self.second, self.seq = f"run.{head.get('run', '-')}.custom", 0, 0
        self.idempotency_key = head.get("idempotency_key", self.id)
        self.cancelled, self.code, self.task = threading.Event(), 0, None  # code: why it was stopped
        self.brokers, self.unwanted = set(), set()  # who knows of it here; of those, who has it elsewhere
        self.result, self.wait, self.request, self.asked = None, RESEND_S, {}, 0

    @property
    def context(self):
        """What the run was given that does not change, or None."""
        return self.request.get("context")

    @property
    def state(self):
        """The fields of the run's state that the tool's `reads` names."""
        return self.request.get("state") or {}

    def interrupt(self, value):
        """The answer to value; when there is none yet the call ends here and starts again with it."""
        self.asked, answers = self.asked + 1, self.request.get("answers") or []
        if self.asked > len(answers):
            raise Interrupt(value)
        return answers[self.asked - 1]

    def stream(self, value):
        """Tells value, anything that JSON has, to whoever follows the run now: live, stored nowhere, and within bounds."""
        if not any(broker.wants(self.topic) for broker in [*self.brokers]):
            return
        if (second := int(time.monotonic())) != self.second:
            self.second, self.values, self.bytes = second, 0, 0
        if self.values < VALUES_MAX and self.bytes < VALUES_BYTES_MAX:
            body = pack_body(self.about | {"value": value})
            self.seq, self.values, self.bytes = self.seq + 1, self.values + 1, self.bytes + len(body)
            if len(body) <= VALUE_BYTES_MAX:
                self.loop.call_soon_threadsafe(self.tell, body, self.seq)

    def tell(self, body, seq):
        for broker in self.brokers - self.unwanted:
            if not self.result and broker.wants(self.topic):
                return broker.send(PROGRESS, body, call_id=self.id, topic=self.topic, seq=seq)

    def stop(self, code):
        if not self.code:
            self.code = code
            self.cancelled.set()
            if self.task:
                self.task.cancel()


class Broker:
    """A session with one broker, opened again whenever it is lost."""

    def __init__(self, worker, endpoint):
        self.worker, self.endpoint, self.socket, self.open, self.sent = worker, endpoint, None, False, 0
        self.wanted = ()  # beginnings of topics that somebody listens to

    def wants(self, topic):
        return self.open and topic.startswith(self.wanted)

    def send(self, kind, *bodies, **fields):
        if self.socket:
            self.sent = time.monotonic()
            sent = self.socket.send_multipart([encode(kind, **fields), *bodies], zmq.NOBLOCK)
            sent.add_done_callback(lambda sent: sent.exception())  # a full pipe: what matters is sent again

    async def serve(self):
        pause = 0.1
        while True:
            self.connect()
            try:
                await self.session()
            except Lost as error:
                log.warning("%s: %s", self.endpoint, error)
            pause = 0.1 if self.open else min(2 * pause, 5)
            self.close(0)  # an old HELLO must not come behind a new one
            self.worker.lost(self)
            await asyncio.sleep(pause * random.uniform(0.5, 1))

    def connect(self):
        self.socket = zmq.asyncio.Context.instance().socket(zmq.DEALER)
        self.socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
        self.socket.setsockopt(zmq.MAXMSGSIZE, BODY_BYTES_MAX)
        if self.worker.keys:
            self.socket.curve_publickey, self.socket.curve_secretkey, self.socket.curve_serverkey = self.worker.keys
        self.socket.connect(self.endpoint)
        self.beat, self.liveness, self.heard = 0.3, LIVENESS_S, time.monotonic()
        self.worker.hello(self)

    def close(self, linger_ms):
        closing, self.socket, self.open = self.socket, None, False
        if closing:
            closing.close(linger_ms)

    async def session(self):
        turned = time.monotonic()
        while True:
            came = await self.socket.poll(max(0, self.sent + self.beat - turned) * 1000)
            now = time.monotonic()
            if now - turned > 2 * self.beat:
                self.heard = now  # we stood still, not the broker
            turned = now
            if came:
                self.take(await self.socket.recv_multipart())
            if now - self.heard > self.liveness:
                raise Lost("silent" if self.open else "no answer")
            if now - self.sent >= self.beat:
                if self.open:
                    self.send(PING, **self.worker.load())
                self.sent = now

    def take(self, frames):
        try:
            kind, flags, head = decode(frames[0])
            self.heard = time.monotonic()
            handler = getattr(self.worker, HANDLERS.get(kind, ""), None)
            if handler and (self.open or kind in (WELCOME, ERROR)):
                handler(self, head, flags, frames[1:])
        except Lost:
            raise
        except Exception as error:
            log.warning("%s: message dropped, malformed: %r", self.endpoint, error)


class Worker:
    def __init__(self, slots=8, name=None, drain_s=30):
        self.slots, self.drain_s = slots, drain_s
        self.name = name or os.environ.get("FLOTILLA_NAME") or f"{pathlib.Path(sys.argv[0]).name}-{os.getpid()}"
        self.session, self.keys, self.tools = secrets.token_hex(16), keys(), {}
        self.running, self.finished, self.done, self.sought = {}, {}, {}, {}
        self.brokers, self.draining = [Broker(self, endpoint) for endpoint in endpoints()], False
        self.threads = ThreadPoolExecutor(slots + 1)  # one for probes

    def tool(self, description, parameters, **more):
        """Offers a function by its name. more: idempotent=False, return_direct=True, reads=["messages"], ..."""
        def offer(function):
            parameters.setdefault("type", "object")
            name = function.__name__
            self.tools[name] = function, dict(name=name, description=description, parameters=parameters, plain=True, **more)
            return function
        return offer

    # --- sessions ---

    def load(self):
        room = 0 if self.draining else self.slots - len(self.running)
        return dict(credit=room, load=len(self.running), capacity=self.slots)

    def hello(self, broker):
        catalog = msgpack.packb([definition for _, definition in self.tools.values()])
        broker.send(HELLO, catalog, flags=QUIET, session=self.session, name=self.name, role=2, protocol_min=1, protocol_max=1,
                    services=[[f"tool:{name}", 0] for name in self.tools], probes=1, **self.load())

    def on_welcome(self, broker, head, *_):
        broker.beat, broker.liveness = max(10, head["heartbeat_ms"]) / 1000, max(20, head["liveness_ms"]) / 1000
        broker.open, broker.wanted = True, ("",)  # until it says otherwise
        log.info("%s: welcome", broker.endpoint)
        self.announce(broker, [id for id, call in [*self.running.items(), *self.finished.items()]
                               if broker in call.brokers or not any(other.open for other in call.brokers)])
        if self.draining:
            broker.send(DRAIN)

    def lost(self, broker):
        mine = [id for id, call in [*self.running.items(), *self.finished.items()] if broker in call.brokers]
        for other in self.brokers:
            if other.open:
                self.announce(other, mine)

    def announce(self, broker, ids):
        known = [call for call in map(self.find, ids) if call]
        for i in range(0, len(known), 64):
            broker.send(ANNOUNCE, calls=[[call.id, 2 if call.result else 1] for call in known[i:i + 64]])
        for call in known:
            call.brokers.add(broker)
            if call.result:
                broker.send(RESULT, *call.result[1], **call.result[0])

    def on_seek(self, broker, head, flags, *_):
        ids = [item[0] for item in head.get("calls", ())]
        absent = [id for id in ids if not self.find(id)]
        self.announce(broker, ids)
        if flags & RESEND:  # we have had them
            broker.send(ANNOUNCE, calls=[[id, 3] for id in absent])
        else:
            self.sought = dict.fromkeys(absent, broker)  # they may be under way to us

    def on_ping(self, broker, *_):
        broker.send(PONG)

    def on_wanted(self, broker, head, flags, bodies):
        try:
            broker.wanted = tuple(unpack(bodies[0])) if bodies else broker.wanted
            "".startswith(broker.wanted)  # all of them texts
        except Exception:
            broker.wanted = ("",)

    def on_goaway(self, broker, head, *_):
        if not head.get("deadline_ms"):
            raise Lost("has left")

    def on_error(self, broker, head, *_):
        log.error("%s: error %d: %s", broker.endpoint, head["code"], head.get("reason", ""))
        if head["code"] == STUCK:
            os._exit(70)
        if head["code"] == NO_SESSION or not broker.open:
            raise Lost("no session")

    def on_probe(self, broker, head, *_):
        asyncio.wrap_future(self.threads.submit(int)).add_done_callback(
            lambda _: broker.send(PROBE, call_id=head["call_id"]))

    # --- calls ---

    def find(self, id):
        return self.running.get(id) or self.finished.get(id)

    def on_call(self, broker, head, flags, bodies):
        id, call = head["call_id"], self.find(head["call_id"])
        if call:
            self.announce(broker, [id])
            broker.send(CALL_ACK, call_id=id)
        elif flags & ONCE and id in self.done:
            broker.send(RESULT, call_id=id, code=WORKER_LOST, reason="it ran here and is over")
        elif not self.load()["credit"]:
            broker.send(BUSY, call_id=id)
        else:
            broker.send(CALL_ACK, call_id=id)
            call = self.running[id] = Call(head, flags)
            call.brokers.add(broker)
            if id in self.sought:
                self.announce(self.sought.pop(id), [id])
            call.runner = asyncio.ensure_future(self.run_call(call, head, bodies))
            self.tell_credit(broker)

    def tell_credit(self, but=None):
        for broker in self.brokers:
            if broker.open and broker is not but:
                broker.send(CREDIT, credit=self.load()["credit"])

    async def run_call(self, call, head, bodies):
        deadline = asyncio.get_running_loop().call_later(
            (head.get("deadline_ms") or DEADLINE_MS) / 1000, call.stop, EXPIRED)
        try:
            answer = pack_body(await self.answer(call, head.get("service", ""), bodies))
            if len(answer) > BODY_BYTES_MAX:  # the broker would hang up on it, and again whenever it is sent again
                raise ValueError(f"the answer is larger than {BODY_BYTES_MAX} bytes")
        except BaseException as error:  # msgpack's, too: the tool's answer may be none
            answer = None if call.code else msgpack.packb(fault(error))
        deadline.cancel()
        del self.running[call.id]
        self.finish(call, answer)
        self.tell_credit()

    def finish(self, call, answer):
        if answer is not None:
            call.result = dict(call_id=call.id), [answer]
        elif call.code == WORKER_LOST and not call.once:
            return self.to_all(call, RELEASE)
        else:  # nobody knows how far a call that must not run twice has come
            lost = call.once and call.code == EXPIRED
            call.result = dict(call_id=call.id, code=WORKER_LOST if lost else call.code), []
        self.finished[call.id] = call
        if len(self.finished) > KEPT_MAX:
            del self.finished[next(iter(self.finished))]
        self.send_result(call)

    def send_result(self, call):
        if call.id in self.finished:
            self.to_all(call, RESULT)
            asyncio.get_running_loop().call_later(call.wait, self.send_result, call)
            call.wait = min(2 * call.wait, RESEND_S_MAX)

    def to_all(self, call, kind, but=None):
        fields, bodies = call.result if kind == RESULT else (dict(call_id=call.id), [])
        for broker in call.brokers:
            if broker.open and broker is not but:
                broker.send(kind, *bodies, **fields)

    async def answer(self, call, service, bodies):
        try:
            profile, call.request = map(unpack, bodies[:2])
            asked, call.loop = call.request["tool_call"], asyncio.get_running_loop()
            call.about = {"kind": "custom", "run": call.request.get("run"), "thread": call.request.get("thread"),
                          "agent": profile.get("agent"), "tool": asked["name"], "tool_call_id": asked["id"]}
            middleware = profile.get("middleware")
        except Exception as error:
            raise ValueError(f"the call cannot be read: {error!r}") from error
        if middleware:
            return {"fault": {"type": "RuntimeError", "message": f"this worker runs no middleware: {middleware}",
                              "retryable": False, "fatal": True}}
        message = {"type": "tool", "tool_call_id": asked["id"], "name": asked["name"], "status": "success"}
        try:
            function, definition = self.tools[service.removeprefix("tool:")]
            value = await self.invoke(call, function, check(function, definition["parameters"], asked["args"]))
            return {"commands": [command_of(message, value)]}
        except BadArguments as error:
            return {"commands": [command_of({**message, "status": "error"}, f"Error: {error}")]}
        except Interrupt as error:
            return {"interrupt": error.args[0]}

    async def invoke(self, call, function, args):
        if inspect.iscoroutinefunction(function):
            call.task = asyncio.ensure_future(function(call, **args))
            return await call.task
        return await asyncio.wrap_future(self.threads.submit(function, call, **args))

    def on_result_ack(self, broker, head, *_):
        call = self.finished.pop(head["call_id"], None)
        if not call:
            return
        if call.once:
            now = time.monotonic()
            self.done = {id: at for id, at in self.done.items() if at > now - DONE_S} | {call.id: now}
        self.to_all(call, RESULT_ACK, but=broker)

    def on_cancel(self, broker, head, *_):
        id, code, call = head["call_id"], head.get("code") or CANCELLED, self.find(head["call_id"])
        if not call and code != WORKER_LOST:
            broker.send(RESULT, call_id=id, code=code)
        elif call and call.result:
            self.announce(broker, [id])
        elif call:
            call.brokers.add(broker)
            if code == WORKER_LOST:
                call.unwanted.add(broker)
                if any(other.open for other in call.brokers - call.unwanted):
                    return  # another broker counts on it
            call.stop(code)

    # --- the end ---

    async def serve(self):
        told = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, told.set)
        links = [asyncio.ensure_future(broker.serve()) for broker in self.brokers]
        ended = asyncio.ensure_future(told.wait())
        await asyncio.wait([*links, ended], return_when=asyncio.FIRST_COMPLETED)
        for link in links:
            if link.done():
                link.result()  # a mistake of ours: the process ends with it
        self.draining = True
        for broker in self.brokers:
            broker.send(DRAIN)
        await self.until(lambda: not self.running, self.drain_s)
        for call in [*self.running.values()]:
            call.stop(WORKER_LOST)  # given back, or, if it is ONCE, nobody knows
        await self.until(lambda: not self.running and not self.finished, 2)
        for link in links:
            link.cancel()
        await asyncio.wait(links)
        for broker in self.brokers:
            broker.send(BYE)
            broker.close(1000)
        zmq.asyncio.Context.instance().term()

    async def until(self, holds, seconds):
        end = time.monotonic() + seconds
        while not holds() and time.monotonic() < end:
            await asyncio.sleep(0.02)

    def run(self):
        """Serves until SIGTERM or SIGINT; does not return."""
        logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
        asyncio.run(self.serve())
        os._exit(0)  # a thread that ignores its end does not keep us


HANDLERS = {WELCOME: "on_welcome", PING: "on_ping", CALL: "on_call", RESULT_ACK: "on_result_ack", CANCEL: "on_cancel",
            GOAWAY: "on_goaway", PONG: "on_wanted", WANTED: "on_wanted", ERROR: "on_error", PROBE: "on_probe", SEEK: "on_seek"}
