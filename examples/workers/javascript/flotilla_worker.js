// A tool worker for Flotilla, written after docs/protocol.md. tools.js shows its use.
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { decode as unpackAny, encode as pack, ExtensionCodec } from "@msgpack/msgpack";
import { Dealer } from "zeromq";

const [HELLO, WELCOME, PING, PONG, CREDIT, CALL, CALL_ACK, PROGRESS, RESULT, RESULT_ACK, BUSY, CANCEL, ANNOUNCE, RELEASE,
  DRAIN, GOAWAY, BYE, ERROR, PROBE, , , , , SEEK, WANTED] = Array.from({ length: 25 }, (_, i) => i + 1);
const RESEND = 1, ONCE = 2, QUIET = 16; // flags
const NO_SESSION = 4, EXPIRED = 6, CANCELLED = 8, WORKER_LOST = 9, STUCK = 14;
const RESEND_MS = 1000, RESEND_MS_MAX = 30000, LIVENESS_MS = 1500, DEADLINE_MS = 600000;
const KEPT_MAX = 4096, DONE_MS = 600000, BODY_BYTES_MAX = 16 << 20, MESSAGE_MAX = 4096;
const VALUE_BYTES_MAX = 64 << 10, VALUES_MAX = 1000, VALUES_BYTES_MAX = 1 << 20; // of call.stream: each, and in a second
const ID = "id", UINT = "uint", TEXT = "text", LIST = "list";
const FIELDS = { // those of the header that a worker reads or writes
  call_id: [1, ID], run: [2, ID], service: [6, ID], deadline_ms: [7, UINT], seq: [10, UINT],
  credit: [11, UINT], topic: [13, ID], code: [14, UINT],
  reason: [15, TEXT], session: [17, ID], name: [18, ID], role: [19, UINT], protocol_min: [20, UINT],
  protocol_max: [21, UINT], heartbeat_ms: [22, UINT], liveness_ms: [23, UINT], load: [24, UINT],
  capacity: [25, UINT], idempotency_key: [26, ID], services: [27, LIST], calls: [28, LIST], probes: [33, UINT],
};
const REQUIRED = {
  [WELCOME]: ["heartbeat_ms", "liveness_ms"], [ERROR]: ["code"], [CALL]: ["call_id"], [RESULT_ACK]: ["call_id"],
  [CANCEL]: ["call_id"], [PROBE]: ["call_id"],
};
const FITS = {
  [ID]: (v) => typeof v === "string" && /^[!-~]+$/.test(v), [TEXT]: (v) => typeof v === "string",
  [UINT]: (v) => Number.isInteger(v) && v >= 0, [LIST]: Array.isArray,
  string: (v) => typeof v === "string", integer: Number.isInteger, number: (v) => typeof v === "number",
  boolean: (v) => typeof v === "boolean", array: Array.isArray, null: (v) => v === null,
  object: (v) => typeof v === "object" && v !== null && !Array.isArray(v),
};

const BLOCKS = ["text", "text-plain", "image", "image_url", "audio", "video", "file", "document", "search_result", "json"];

export class BadArguments extends Error {} // the model is told what is wrong with its arguments

// A tool may return it: content is a text, a list of content blocks, or anything else, as JSON. No model sees the
// artifact.
export class Answer {
  constructor(content, artifact) {
    Object.assign(this, { content, artifact });
  }
}

// A tool may return it: answer is what it would return otherwise, update has fields of the run's state (its messages
// come behind the answer), goto is the node where the run goes on.
export class Command {
  constructor(answer, { update, goto } = {}) {
    Object.assign(this, { answer, update, goto });
  }
}

class Interrupt { // what call.interrupt() asks
  constructor(value) {
    this.value = value;
  }
}

const now = () => performance.now();
const log = (...words) => console.error(...words);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// FLOTILLA_BROKER, or the fleet that `flotilla up` runs in this folder or one above it.
function endpoints() {
  if (process.env.FLOTILLA_BROKER) return process.env.FLOTILLA_BROKER.split(",");
  for (let folder = resolve("."); ; folder = dirname(folder)) {
    const file = join(folder, ".flotilla/fleet.json");
    if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")).brokers;
    if (folder === dirname(folder)) return ["tcp://127.0.0.1:7700"];
  }
}

// FLOTILLA_KEY, a file; FLOTILLA_BROKER_KEY, a file or the key: docs/security.md.
function keys() {
  const { FLOTILLA_KEY: ours, FLOTILLA_BROKER_KEY: theirs } = process.env;
  const read = (path, half) => readFileSync(path, "utf8").match(`${half}-key\\s*=\\s*"(.{40})"`)[1];
  if (!ours && !theirs) return {};
  if (!ours || !theirs) throw new Error("FLOTILLA_KEY and FLOTILLA_BROKER_KEY go together");
  return { curvePublicKey: read(ours, "public"), curveSecretKey: read(ours, "secret"),
    curveServerKey: existsSync(theirs) ? read(theirs, "public") : theirs };
}

const extensionCodec = new ExtensionCodec();
extensionCodec.decode = (_, code) => {
  throw new Error(`ext type ${code}`);
};

function unpack(bytes, keyType = "string") {
  return unpackAny(bytes, { extensionCodec, mapKeyConverter: (key) => {
    if (typeof key !== keyType) throw new Error(`a key that is no ${keyType}`);
    return key;
  } });
}

// The library writes no integer keys: the map is put together here.
function encode(kind, fields, flags = 0) {
  const items = Object.entries(fields).filter(([, v]) => v);
  return Buffer.concat([Buffer.from([0x46, 0x4c, 1, kind, flags, 0, 0, 0, 0xde, 0, items.length]),
    ...items.flatMap(([name, v]) => [pack(FIELDS[name][0]), pack(v)])]);
}

function decode(frame) {
  if (frame.length < 9 || frame.toString("latin1", 0, 3) !== "FL\x01" || frame[5] | frame[6] | frame[7])
    throw new Error("no header of version 1");
  const map = unpack(frame.subarray(8), "number"), head = {};
  if (!FITS.object(map)) throw new Error("no map");
  for (const [name, [key, kind]] of Object.entries(FIELDS)) {
    if (map[key] === undefined) continue;
    if (!FITS[kind](map[key])) throw new Error(`${name}: ${map[key]}`);
    head[name] = map[key];
  }
  for (const name of REQUIRED[frame[3]] ?? []) if (head[name] === undefined) throw new Error(`no ${name}`);
  return { kind: frame[3], once: Boolean(frame[4] & ONCE), again: Boolean(frame[4] & RESEND),
    ...head };
}

// Required arguments and their types, not deeper.
function check({ properties = {}, required = [] }, args) {
  for (const name of required) if (!Object.hasOwn(args, name)) throw new BadArguments(`${name} is missing`);
  for (const [name, value] of Object.entries(args)) {
    const type = properties[name]?.type;
    if (typeof type === "string" && !FITS[type](value))
      throw new BadArguments(`${name} must be of type ${type}, not ${JSON.stringify(value)}`);
  }
  return args;
}

function contentOf(value) {
  const isBlocks = Array.isArray(value) && value.length > 0 && value.every((item) => BLOCKS.includes(item?.type));
  return isBlocks || typeof value === "string" ? value : JSON.stringify(value) ?? "null";
}

// What a tool returned, with the message that answers its call.
function commandOf(message, value) {
  const { answer, update, goto } = value instanceof Command ? value : new Command(value);
  const { content, artifact } = answer instanceof Answer ? answer : new Answer(answer);
  const messages = [{ ...message, content: contentOf(content), artifact }].concat(update?.messages ?? []);
  return { update: { ...update, messages }, goto };
}

// A string may have half a character, as slice() leaves it; a body may not.
function wellFormed(value) {
  if (typeof value === "string") return value.replace(/\p{Surrogate}/gu, "\ufffd");
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map((item) => item.map(wellFormed)));
}

function packBody(value) {
  const body = pack(value, { ignoreUndefined: true }); // it throws, of what has no end
  return body.includes(0xed) ? pack(wellFormed(value), { ignoreUndefined: true }) : body; // a surrogate's first byte
}

const fault = (error) => ({ fault: { type: error?.name ?? "Error",
  message: String(error?.message ?? error).slice(0, MESSAGE_MAX), retryable: Boolean(error?.retryable) } });

// One call of a tool, its second argument. A tool ends early when `signal` says so.
class Call {
  #asked = 0;
  #stopper = new AbortController();
  answers = [];
  context; // what the run was given that does not change
  state = {}; // the fields that the definition's `reads` names
  brokers = new Set(); // who knows of it here
  unwanted = new Set(); // of those, who has it elsewhere
  code = 0; // why it was stopped
  result = null; // [header, body ...]
  wait = RESEND_MS;
  #told = { second: 0, seq: 0 };

  constructor(head) {
    this.id = head.call_id;
    this.once = head.once;
    this.topic = `run.${head.run ?? "-"}.custom`;
    this.idempotencyKey = head.idempotency_key ?? head.call_id;
  }

  get signal() {
    return this.#stopper.signal;
  }

  // The answer to value; when there is none yet the call ends here and starts again with it.
  interrupt(value) {
    if (this.#asked >= this.answers.length) throw new Interrupt(value);
    return this.answers[this.#asked++];
  }

  // Tells value, anything that JSON has, to whoever follows the run now: live, stored nowhere, and within bounds.
  stream(value) {
    const broker = [...this.brokers].find((each) => !this.unwanted.has(each) && each.wants(this.topic));
    if (this.result || !broker) return;
    const told = this.#told, second = Math.floor(now() / 1000);
    if (second !== told.second) Object.assign(told, { second, values: 0, bytes: 0 });
    if (told.values >= VALUES_MAX || told.bytes >= VALUES_BYTES_MAX) return;
    const body = packBody({ ...this.about, value: value ?? null });
    told.seq++;
    told.values++;
    told.bytes += body.length;
    if (body.length <= VALUE_BYTES_MAX) broker.send(PROGRESS, { call_id: this.id, topic: this.topic, seq: told.seq }, body);
  }

  stop(code) {
    this.code ||= code;
    this.#stopper.abort();
  }
}

// A session with one broker, opened again whenever it is lost.
class Broker {
  socket = null;
  open = false;
  over = false;
  wanted = []; // beginnings of topics that somebody listens to

  constructor(worker, endpoint) {
    this.worker = worker;
    this.endpoint = endpoint;
  }

  wants(topic) {
    return this.open && this.wanted.some((each) => topic.startsWith(each));
  }

  send(kind, fields = {}, ...bodies) {
    if (!this.socket) return;
    this.sent = now();
    this.socket.send([encode(kind, fields, kind === HELLO ? QUIET : 0), ...bodies]).catch(() => {}); // a full pipe: what matters is sent again
  }

  async serve() {
    for (let pause = 100; !this.over;) {
      this.connect();
      const timer = setInterval(() => this.tick(), 100);
      const socket = this.socket;
      for await (const frames of socket) if (socket === this.socket) this.take(frames);
      clearInterval(timer);
      pause = this.wasOpen ? 100 : Math.min(2 * pause, 5000);
      if (!this.over) await sleep(pause * (0.5 + Math.random() / 2));
    }
  }

  connect() {
    this.socket = new Dealer({ linger: 0, sendTimeout: 0, maxMessageSize: BODY_BYTES_MAX, reconnectMaxInterval: 1000,
      ...this.worker.keys });
    this.socket.connect(this.endpoint);
    this.heard = this.turned = now();
    [this.beat, this.liveness] = [300, LIVENESS_MS];
    this.worker.hello(this);
  }

  lose(why) {
    if (why) log(`${this.endpoint}: ${why}`);
    const socket = this.socket;
    [this.wasOpen, this.open, this.socket] = [this.open, false, null];
    socket?.close(); // its linger is 0: an old HELLO must not come behind a new one
    this.worker.lost(this);
  }

  tick() {
    const stood = now() - this.turned > 2 * this.beat;
    this.turned = now();
    if (stood) this.heard = now(); // it was us, not the broker
    if (!this.socket) return;
    if (now() - this.heard > this.liveness) this.lose(this.open ? "silent" : "no answer");
    else if (this.open && now() - this.sent >= this.beat - 100) this.send(PING, this.worker.load());
  }

  take(frames) {
    try {
      const head = decode(frames[0]);
      this.heard = now();
      if (this.open || head.kind === WELCOME || head.kind === ERROR)
        HANDLERS[head.kind]?.(this.worker, this, head, frames.slice(1));
    } catch (error) {
      log(`${this.endpoint}: message dropped, malformed: ${error.message}`);
    }
  }
}

export class Worker {
  running = new Map();
  finished = new Map();
  done = new Map();
  sought = new Map();
  tools = new Map();
  draining = false;
  session = randomBytes(16).toString("hex");
  keys = keys();

  constructor({ slots = 8, name = process.env.FLOTILLA_NAME || `${basename(process.argv[1])}-${process.pid}`,
    drainMs = 30000 } = {}) {
    Object.assign(this, { slots, name, drainMs });
    this.brokers = endpoints().map((endpoint) => new Broker(this, endpoint));
  }

  // definition: {name, description, parameters, idempotent?, return_direct?, ...}; run: async (args, call) => answer
  tool(definition, run) {
    this.tools.set(definition.name, { run,
      definition: { plain: true, ...definition, parameters: { type: "object", ...definition.parameters } } });
  }

  // --- sessions ---

  load() {
    const { slots: capacity, running: { size: load } } = this;
    return { credit: this.draining ? 0 : capacity - load, load, capacity };
  }

  hello(broker) {
    const tools = [...this.tools.values()].map((tool) => tool.definition);
    broker.send(HELLO, { session: this.session, name: this.name, role: 2, protocol_min: 1, protocol_max: 1,
      services: tools.map((tool) => [`tool:${tool.name}`, 0]), probes: 1, ...this.load() }, pack(tools));
  }

  onWelcome(broker, head) {
    broker.beat = Math.max(10, head.heartbeat_ms);
    broker.liveness = Math.max(20, head.liveness_ms);
    broker.open = true;
    broker.wanted = [""]; // until it says otherwise
    log(`${broker.endpoint}: welcome`);
    this.announce(broker, [...this.running.values(), ...this.finished.values()].filter((call) =>
      call.brokers.has(broker) || ![...call.brokers].some((each) => each.open)).map((call) => call.id));
    if (this.draining) broker.send(DRAIN);
  }

  lost(broker) {
    const mine = [...this.running.values(), ...this.finished.values()].filter((call) => call.brokers.has(broker));
    for (const other of this.brokers) if (other.open) this.announce(other, mine.map((call) => call.id));
  }

  announce(broker, ids) {
    const known = ids.map((id) => this.find(id)).filter(Boolean);
    for (let i = 0; i < known.length; i += 64)
      broker.send(ANNOUNCE, { calls: known.slice(i, i + 64).map((call) => [call.id, call.result ? 2 : 1]) });
    for (const call of known) {
      call.brokers.add(broker);
      if (call.result) broker.send(RESULT, ...call.result);
    }
  }

  onSeek(broker, { calls = [], again }) {
    const ids = calls.map(([id]) => id), absent = ids.filter((id) => !this.find(id));
    this.announce(broker, ids);
    if (again) broker.send(ANNOUNCE, { calls: absent.map((id) => [id, 3]) }); // we have had them
    else this.sought = new Map(absent.map((id) => [id, broker])); // they may be under way to us
  }

  onWanted(broker, _, [body]) {
    if (!body) return;
    broker.wanted = [""];
    const wanted = unpack(body);
    if (Array.isArray(wanted) && wanted.every((each) => typeof each === "string")) broker.wanted = wanted;
  }

  onError(broker, { code, reason = "" }) {
    log(`${broker.endpoint}: error ${code}: ${reason}`);
    if (code === STUCK) process.exit(70);
    if (code === NO_SESSION || !broker.open) broker.lose("no session");
  }

  // --- calls ---

  find(id) {
    return this.running.get(id) ?? this.finished.get(id);
  }

  onCall(broker, head, bodies) {
    const id = head.call_id;
    if (this.find(id)) {
      broker.send(CALL_ACK, { call_id: id });
      this.announce(broker, [id]);
    } else if (head.once && this.done.has(id)) {
      broker.send(RESULT, { call_id: id, code: WORKER_LOST, reason: "it ran here and is over" });
    } else if (this.load().credit === 0) {
      broker.send(BUSY, { call_id: id });
    } else {
      broker.send(CALL_ACK, { call_id: id });
      const call = new Call(head);
      this.running.set(id, call);
      call.brokers.add(broker);
      if (this.sought.has(id)) this.announce(this.sought.get(id), [id]);
      this.tellCredit(broker);
      this.runCall(call, head, bodies);
    }
  }

  tellCredit(but) {
    for (const broker of this.brokers)
      if (broker.open && broker !== but) broker.send(CREDIT, { credit: this.load().credit });
  }

  async runCall(call, head, bodies) {
    const deadline = setTimeout(() => call.stop(EXPIRED), Math.min(head.deadline_ms || DEADLINE_MS, 86400000));
    let answer = null;
    try {
      answer = packBody(await this.answer(call, head.service ?? "", bodies));
      // The broker would hang up on it, and again whenever it is sent again: no other call would be answered.
      if (answer.length > BODY_BYTES_MAX) throw new RangeError(`the answer is larger than ${BODY_BYTES_MAX} bytes`);
    } catch (error) { // msgpack's, too: the tool's answer may be none
      answer = call.code ? null : packBody(fault(error));
    }
    clearTimeout(deadline);
    this.running.delete(call.id);
    this.finish(call, answer);
    this.tellCredit();
  }

  finish(call, answer) {
    const call_id = call.id;
    if (answer) call.result = [{ call_id }, answer];
    else if (call.code === WORKER_LOST && !call.once) return this.toAll(call, [RELEASE, { call_id }]);
    // Nobody knows how far a call that must not run twice has come.
    else call.result = [{ call_id, code: call.once && call.code === EXPIRED ? WORKER_LOST : call.code }];
    this.finished.set(call_id, call);
    if (this.finished.size > KEPT_MAX) this.finished.delete(this.finished.keys().next().value);
    this.sendResult(call);
  }

  sendResult(call) {
    if (!this.finished.has(call.id)) return;
    this.toAll(call, [RESULT, ...call.result]);
    setTimeout(() => this.sendResult(call), call.wait).unref();
    call.wait = Math.min(2 * call.wait, RESEND_MS_MAX);
  }

  toAll(call, message, but) {
    for (const broker of call.brokers) if (broker.open && broker !== but) broker.send(...message);
  }

  async answer(call, service, bodies) {
    let profile, request;
    try {
      [profile, request] = bodies.map((body) => unpack(body));
      call.answers = request.answers ?? [];
      call.context = request.context;
      call.state = request.state ?? {};
      call.about = { kind: "custom", run: request.run, thread: request.thread, agent: profile.agent,
        tool: request.tool_call.name, tool_call_id: request.tool_call.id };
      if (!FITS.object(profile) || !FITS.object(request.tool_call.args)) throw new Error("no maps");
    } catch (error) {
      throw Object.assign(new Error(`the call cannot be read: ${error.message}`), { name: "ValueError" });
    }
    if (profile.middleware?.length)
      return { fault: { type: "RuntimeError", message: `this worker runs no middleware: ${JSON.stringify(profile.middleware)}`,
        retryable: false, fatal: true } };
    const { id, name, args } = request.tool_call;
    const message = { type: "tool", tool_call_id: id, name, status: "success" };
    try {
      const { run, definition } = this.tools.get(service.replace(/^tool:/, ""));
      return { commands: [commandOf(message, await run(check(definition.parameters, args), call))] };
    } catch (error) {
      if (error instanceof Interrupt) return { interrupt: error.value };
      if (!(error instanceof BadArguments)) throw error;
      return { commands: [commandOf({ ...message, status: "error" }, `Error: ${error.message}`)] };
    }
  }

  onResultAck(broker, { call_id: id }) {
    const call = this.finished.get(id);
    if (!call) return;
    this.finished.delete(id);
    if (call.once) {
      for (const [old, at] of this.done) if (at < now() - DONE_MS) this.done.delete(old);
      this.done.set(id, now());
    }
    this.toAll(call, [RESULT_ACK, { call_id: id }], broker);
  }

  onCancel(broker, { call_id: id, code = CANCELLED }) {
    const call = this.find(id);
    if (!call && code !== WORKER_LOST) broker.send(RESULT, { call_id: id, code });
    else if (call?.result) this.announce(broker, [id]);
    else if (call) {
      call.brokers.add(broker);
      if (code === WORKER_LOST) call.unwanted.add(broker);
      const wanted = [...call.brokers].some((each) => each.open && !call.unwanted.has(each));
      if (code !== WORKER_LOST || !wanted) call.stop(code); // else another broker counts on it
    }
  }

  // --- the end ---

  // Serves until SIGTERM or SIGINT; does not return.
  run() {
    for (const name of ["SIGTERM", "SIGINT"]) process.once(name, () => this.drain());
    for (const broker of this.brokers)
      broker.serve().catch((error) => {
        log(error); // a mistake of ours: the process ends with it
        process.exit(1);
      });
  }

  async drain() {
    this.draining = true;
    for (const broker of this.brokers) broker.send(DRAIN);
    await this.until(() => this.running.size === 0, this.drainMs);
    for (const call of this.running.values()) call.stop(WORKER_LOST); // given back, or, if ONCE, nobody knows
    await this.until(() => this.running.size + this.finished.size === 0, 2000);
    for (const broker of this.brokers) {
      broker.over = true;
      broker.send(BYE);
      if (broker.socket) broker.socket.linger = 1000;
      broker.lose();
    }
    setTimeout(() => process.exit(0), 200); // a tool that ignores its end does not keep us
  }

  async until(holds, ms) {
    for (const end = now() + ms; !holds() && now() < end;) await sleep(20);
  }
}

const HANDLERS = {
  [WELCOME]: (worker, ...message) => worker.onWelcome(...message),
  [PONG]: (worker, ...message) => worker.onWanted(...message),
  [WANTED]: (worker, ...message) => worker.onWanted(...message),
  [PING]: (_, broker) => broker.send(PONG),
  [CALL]: (worker, ...message) => worker.onCall(...message),
  [RESULT_ACK]: (worker, ...message) => worker.onResultAck(...message),
  [CANCEL]: (worker, ...message) => worker.onCancel(...message),
  [GOAWAY]: (_, broker, head) => head.deadline_ms || broker.lose("has left"),
  [ERROR]: (worker, ...message) => worker.onError(...message),
  [PROBE]: (_, broker, head) => setImmediate(() => broker.send(PROBE, { call_id: head.call_id })),
  [SEEK]: (worker, ...message) => worker.onSeek(...message),
};
