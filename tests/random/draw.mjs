// A random scenario: agent, tools, the model's replies; and its next step, which depends on what LangChain has done so far.
import { drawFault, drawMiddleware, drawUpdate, drawValue, folded, nameOf, PII_TEXTS, stateFields } from "./draw_middleware.mjs";

const text = { type: "string" }, number = { type: "number" };
export const ENOUGH_STEPS = 100;
const FILL = 14; // replies behind those that were drawn: a run always ends
const output = (title, property) => ({ title, type: "object", properties: { [property]: text }, required: [property] });

function drawTools(random, fields, serial) {
  const tool = (name, properties, required, outcomes, more) =>
    ({ name, description: `The ${name} tool.`, parameters: { type: "object", properties, required }, outcomes, ...more });
  const fails = serial && random.chance(0.6) ? [drawFault(random), drawFault(random), { return: "fine" }] : [drawFault(random)];
  const update = drawUpdate(random, serial ? fields : folded(fields), 0.7);
  return [
    tool("add", { a: number, b: number }, ["a", "b"], [{ echo: true }]),
    tool("search", { q: text }, [], [{ return: random.of(["found", "mail me at z@q.org", "A".repeat(300)]) }]),
    tool("fail", { q: text }, [], fails),
    tool("direct", { q: text }, [], [{ return: "directly" }], { return_direct: true }),
    tool("note", { q: text }, [], [{ command: { update: { ...update, messages: [{ type: "tool", content: "noted" }] } } }]),
  ];
}

const wrapsTools = (entry) => entry.tool_retry || entry.tool_error || entry.llm_tool_emulator || entry.probe?.wrap_tool_call;

function drawAgent(random, tools, fields, serial) {
  const agent = { model: "openai:main", tools, middleware: [] };
  if (random.chance(0.5)) agent.system_prompt = "Be brief.";
  const own = random.some(fields, 0.75);
  if (own.length > 0) agent.state = Object.fromEntries(own.map((name) => [name, stateFields[name]]));
  if (random.chance(0.2)) {
    const [contact, event] = [output("Contact", "name"), output("Event", "what")];
    agent.response_format = random.chance(0.3) ? { strategy: "tool", schemas: [contact, event] }
      : { strategy: random.of(["tool", "tool", "provider"]), schema: contact };
    const more = agent.response_format.strategy === "tool";
    if (more && random.chance(0.3)) agent.response_format.handle_errors = random.of([true, false, "try again"]);
    if (more && random.chance(0.2)) agent.response_format.tool_message_content = "Noted.";
  }
  const count = Number(random.weighted({ 0: 1, 1: 6, 2: 8, 3: 6, 4: 3 }));
  for (let number = 0; number < count; number++) {
    const entry = drawMiddleware(random, { number, tools, fields, serial, structured: agent.response_format !== undefined });
    if (!agent.middleware.some((other) => nameOf(other) === nameOf(entry))) agent.middleware.push(entry);
  }
  // LangChain ends a run by a tool's error if, and only if, a middleware wraps tool calls.
  if (agent.middleware.some(wrapsTools)) agent.tool_errors = "raise";
  agent.recursion_limit = random.chance(0.06) ? random.integer(3, 14) : ENOUGH_STEPS;
  if (random.chance(0.08)) {
    agent[random.of(["interrupt_before", "interrupt_after"])] = [random.of(tools.length > 0 ? ["model", "tools"] : ["model"])];
  }
  return agent;
}

/* --- the model's replies ------------------------------------------------------------------------------------------ */

const args = {
  add: (random, id) => random.chance(0.9) ? { a: 1, b: id } : { a: "one" },
  write_todos: (random, id) =>
    ({ todos: [{ content: `todo ${id}`, status: random.of(["pending", "in_progress", "completed"]) }] }),
  Contact: (random) => random.chance(0.6) ? { name: "Ann" } : { nome: 1 },
  Event: (random) => random.chance(0.7) ? { what: "Party" } : {},
};

class Replies {
  constructor(random, agent, serial) {
    Object.assign(this, { random, serial, calls: 0 });
    const { schemas, schema } = agent.response_format ?? { schemas: [] };
    this.alone = ["direct", ...(schemas ?? [schema]).map(({ title }) => title)];
    this.names = [...agent.tools, ...agent.tools, "ghost"];
    if (agent.middleware.some((entry) => entry.todo_list)) this.names.push("write_todos", "write_todos");
    if (agent.response_format?.strategy === "tool") this.names.push(...this.alone.slice(1), ...this.alone.slice(1));
    this.provider = agent.response_format?.strategy === "provider";
    this.faults = random.of([0, 0, 0.1, 0.3]);
  }

  call(names) {
    const name = this.random.of(names), id = ++this.calls;
    const usual = { q: this.random.of(["x", "y", this.random.of(PII_TEXTS)]) };
    return { id: `c${id}`, name, args: args[name]?.(this.random, id) ?? usual };
  }

  // Where calls differ by decision when they stand beside others they stand alone: decided.mjs.
  callsOfOne() {
    const { random } = this;
    const first = this.call(this.names);
    if (this.serial || this.alone.includes(first.name)) return [first];
    const others = this.names.filter((name) => !this.alone.includes(name) && name !== "write_todos");
    return [first, ...Array.from({ length: random.of([0, 0, 1, 1, 2]) }, () => this.call(others))];
  }

  one() {
    const { random } = this;
    if (random.chance(this.faults)) {
      return random.of([{ http_error: 500, message: "server broke" }, { http_error: 429, message: "slow down" },
        { http_error: 400, message: "bad request" }, { drop: true }]);
    }
    const text = this.provider ? "" : random.of(["", "", "thinking", `I use ${random.of(PII_TEXTS)}`]);
    // Without tools LangChain sends a call to a node that it has not made.
    if (this.names.length > 1 && random.chance(0.6)) return { content: text, tool_calls: this.callsOfOne() };
    if (this.provider) return { content: random.of(['{"name": "Bob"}', '{"name": "Bob"}', "not json"]) };
    return { content: random.of(["done", `final ${random.of(PII_TEXTS)}`, ""]) };
  }

  list(most, name) {
    const drawnOnes = Array.from({ length: this.random.integer(1, most) }, () => this.one());
    const fill = (i) => ({ content: this.provider ? '{"name": "Fill"}' : `${name} fill ${i}` });
    return [...drawnOnes, ...Array.from({ length: FILL }, (_, i) => fill(i))];
  }
}

function drawScript(random, agent, serial) {
  const replies = new Replies(random, agent, serial);
  const selector = agent.middleware.find((entry) => entry.llm_tool_selector)?.llm_tool_selector;
  const offered = agent.tools.filter((name) => !selector?.always_include?.includes(name));
  const repeated = (reply) => Array.from({ length: FILL }, (_, i) => reply(i));
  return {
    main: replies.list(6, "main"), other: replies.list(2, "other"),
    second: replies.list(2, "second"), third: replies.list(2, "third"),
    sum: repeated((i) => ({ content: `SUMMARY ${i}` })), emulate: repeated(() => ({ content: "emulated" })),
    pick: repeated(() => {
      const tools = random.some(offered, 0.5);
      return { structured: { tools: random.chance(0.03) ? ["ghost"] : tools.length > 0 ? tools : offered.slice(0, 1) } };
    }),
  };
}

export function drawScenario(random) {
  const serial = random.chance(0.5);
  const fields = random.chance(0.3) ? [] : random.some(Object.keys(stateFields), 0.4);
  const tools = drawTools(random, fields, serial);
  const agent = drawAgent(random, random.some(tools.map(({ name }) => name), 0.6), fields, serial);
  return { about: "random", source: "langchain-js", agent, tools, script: drawScript(random, agent, serial), steps: [] };
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

function drawDecisions(random, { action_requests, review_configs }) {
  const allowed = review_configs.map((config) => config.allowed_decisions);
  // All or none: where one is rejected LangChain drops what else was approved (decided.mjs, 13.14).
  const reject = allowed.every((types) => types.includes("reject")) && random.chance(0.3);
  return action_requests.map(({ name }, i) => {
    const type = reject ? "reject" : random.of(allowed[i].filter((one) => one !== "reject"));
    if (type === "edit") return { type, edited_action: { name, args: { q: "edited", a: 7, b: 7 } } };
    return type === "reject" && random.chance(0.6) ? { type, message: "no way" } : { type };
  });
}

const drawHistory = (random, [name = "ghost"]) => [
  { type: "human", content: "earlier", id: "given-1" },
  { type: "ai", content: "", id: "given-2", tool_calls: [{ id: "o1", name, args: { a: 1, b: 1, q: "x" } }] },
  { type: "tool", content: "earlier result", id: "given-3", tool_call_id: "o1", name },
];

// last: what LangChain did in the step before, if any.
export function drawStep(random, { agent }, last) {
  if (last?.status === "interrupted") {
    const [value] = last.interrupts;
    return { resume: value === undefined ? null : { decisions: drawDecisions(random, value) } };
  }
  if (last?.status === "error" && random.chance(0.6)) return { resume: null };
  const messages = last === undefined && random.chance(0.15) ? drawHistory(random, agent.tools) : [];
  messages.push({ type: "human", content: random.of(["go", "again", random.of(PII_TEXTS)]) });
  const fields = random.some(Object.keys(agent.state ?? {}), 0.25);
  return { input: { messages, ...Object.fromEntries(fields.map((name) => [name, drawValue(random, name)])) } };
}
