// The middleware of a random scenario: which, and how each is set.
import { weightsFor } from "./draw_weights.mjs";

export const PII_TEXTS = [
  "mail ann@x.org and bo@y.com", "card 4532015112830366 ok", "ip 10.0.0.1 here", "see https://a.org/c now", "nothing here",
];
const FAULT_TYPES = ["TimeoutError", "ValueError", "ConnectionError"];
const MODEL_FAULT_TYPES = ["RateLimitError", "InternalServerError", "BadRequestError", "APIConnectionError", "Exception"];

export const stateFields = {
  last: { type: "string" }, language: { type: "string", default: "en" },
  log: { type: "array", reducer: "append" }, kept: { type: "array", reducer: "append", default: ["z"] },
  sum: { type: "integer", reducer: "add" }, map: { type: "object", reducer: "merge" },
};

export function drawValue(random, name) {
  const { type } = stateFields[name];
  if (type === "object") {
    const some = random.some(["a", "b"], 0.7).map((key) => [key, random.of([1, "x", null])]);
    return Object.fromEntries([...some, ["c", 1]]); // c: never empty, see expect.mjs
  }
  if (type === "array") return [random.of([1, 2, "x"])];
  return type === "integer" ? random.integer(1, 5) : random.of(["u", "v", "w"]);
}

export function drawUpdate(random, fields, probability = 0.35) {
  return Object.fromEntries(random.some(fields, probability).map((name) => [name, drawValue(random, name)]));
}

export function drawFault(random) {
  const fault = { error: random.of(["boom", "disk full", "late"]) };
  return random.chance(0.75) ? { ...fault, error_type: random.of(FAULT_TYPES) } : fault;
}

// Fields that several may write at once.
export const folded = (fields) => fields.filter((name) => stateFields[name].reducer);

/* --- the probe ------------------------------------------------------------------------------------------------ */

function drawNodeAction(random, at, { fields, within, serial }) {
  const action = {};
  if (random.chance(0.4)) {
    action.update = drawUpdate(random, fields);
    if (random.chance(0.2)) action.update.messages = [{ type: random.of(["human", "ai"]), content: `${at} says so` }];
  }
  // What agents see that run at the same time has no order.
  if (random.chance(0.4) && (serial || !within)) action.see = ["message_count", ...random.some(fields, 0.5)];
  if (random.chance(0.03)) action.raise = `${at} broke`;
  return action;
}

function drawNodeHook(random, at, part) {
  const usual = drawNodeAction(random, at, part);
  if (random.chance(0.7)) return usual;
  const once = { ...drawNodeAction(random, at, part), on_call: random.integer(1, 3) };
  if (random.chance(0.5)) {
    const targets = ["end", "end", "model", ...(part.tools.length > 0 ? ["tools"] : [])];
    const target = at.endsWith("after_agent") ? "model" : random.of(targets);
    Object.assign(once, { jump_to: target, can_jump_to: [target] });
  }
  return [once, usual];
}

function drawRequest(random, id, { tools, within }) {
  return random.of([
    ...(within ? [] : [{ model: "openai:other" }]), // the model says whose request it is
    { system_prompt: `Prompt of ${id}.` }, { append_system: ` More of ${id}.` }, { tools: random.some(tools, 0.6) },
    { tool_choice: random.of(["any", "auto", "none"]) }, { model_settings: { temperature: 0.5 } },
    { messages_append: [{ type: "human", content: `added by ${id}` }] }, { messages_keep_last: random.integer(1, 3) },
  ]);
}

function drawWrapAction(random, id, hook, part) {
  const action = {};
  const what = random.next();
  if (what < 0.08) Object.assign(action, { calls: 0, response: { content: `instead, by ${id}` } });
  else if (what < 0.16 && (hook === "model" || part.serial)) action.calls = 2;
  else if (what < 0.2) Object.assign(action, { raise: `${hook} wrap of ${id} broke`, error_type: random.of(FAULT_TYPES) });
  if (random.chance(0.15)) action.catch = { content: `caught by ${id}` };
  if (random.chance(0.2)) action.content_suffix = `/${id}`;
  return action;
}

function drawModelWrap(random, id, part) {
  const action = drawWrapAction(random, id, "model", part);
  if (random.chance(0.35)) action.request = drawRequest(random, id, part);
  // With an update LangChain takes the answer of the model as it is, and no structured one.
  const plainly = !part.structured && action.calls !== 0 && !action.catch && !action.content_suffix;
  if (plainly && random.chance(0.2)) action.update = drawUpdate(random, folded(part.fields));
  return action;
}

function drawToolWrap(random, id, part) {
  const action = drawWrapAction(random, id, "tool", part);
  if (part.tools.length > 0 && random.chance(0.3)) action.tool = random.of(part.tools);
  if (random.chance(0.15)) action.args = { b: 9 };
  if (random.chance(0.15)) action.command = drawUpdate(random, folded(part.fields));
  return action;
}

function drawProbe(random, part) {
  const id = part.prefix + part.number;
  const probe = { id };
  for (const hook of ["before_agent", "before_model", "after_model", "after_agent"]) {
    if (random.chance(0.5)) probe[hook] = drawNodeHook(random, `${id}.${hook}`, part);
  }
  const sometimes = (draw) => random.chance(0.6) ? draw(random, id, part)
    : [{ ...draw(random, id, part), on_call: random.integer(1, 3) }, draw(random, id, part)];
  if (random.chance(0.5)) probe.wrap_model_call = sometimes(drawModelWrap);
  if (random.chance(0.35)) probe.wrap_tool_call = part.serial ? sometimes(drawToolWrap) : drawToolWrap(random, id, part);
  const own = random.some(part.fields, 0.3);
  if (own.length > 0) probe.state = Object.fromEntries(own.map((name) => [name, stateFields[name]]));
  return probe;
}

/* --- the built-in ones ------------------------------------------------------------------------------------------ */

function drawRetry(random, types) {
  const on_failure = random.of(["continue", "error"]);
  const retry = { max_retries: random.integer(0, 3), initial_delay: 0, jitter: false, on_failure };
  return types.length > 0 ? { ...retry, retry_on: [...new Set([random.of(types), random.of(types)])] } : retry;
}

function drawLimit(random, behaviors) {
  const run_limit = random.integer(1, 4);
  const limit = { exit_behavior: random.of(behaviors) };
  const which = random.of(["run", "thread", "both"]);
  if (which !== "thread") limit.run_limit = run_limit;
  if (which !== "run") limit.thread_limit = random.integer(run_limit, 6);
  return limit;
}

const drawn = {
  probe: drawProbe,
  model_call_limit: (random) => drawLimit(random, ["end", "error"]),
  tool_call_limit: (random, { tools }) => ({
    ...drawLimit(random, ["continue", "end", "error"]),
    ...(tools.length > 0 && random.chance(0.5) && { tool_name: random.of(tools) }),
  }),
  model_retry: (random) => drawRetry(random, MODEL_FAULT_TYPES),
  tool_retry: (random, { tools }) =>
    ({ ...drawRetry(random, []), ...(tools.length > 0 && random.chance(0.3) && { tools: [random.of(tools)] }) }),
  tool_error: () => ({ catch: ["Exception"] }),
  model_fallback: (random) => ({ models: ["openai:second", "openai:third"].slice(0, random.integer(1, 2)) }),
  todo_list: () => ({}),
  summarization: (random) =>
    ({ model: "openai:sum", trigger: ["messages", random.integer(3, 8)], keep: ["messages", random.integer(1, 5)] }),
  deepagents_summarization: (random, part) => drawn.summarization(random, part),
  context_editing: (random, { tools }) => ({
    edits: [{
      trigger: random.of([1, 1, 100000]), keep: random.integer(0, 2), clear_tool_inputs: random.chance(0.3),
      exclude_tools: random.some(tools, 0.2), placeholder: "[gone]",
    }],
  }),
  human_in_the_loop: (random, { tools }) => ({
    interrupt_on: Object.fromEntries(random.some(tools, 0.8).map((name) =>
      [name, random.of([false, { allowed_decisions: ["approve", "reject"] },
        { allowed_decisions: ["approve", "edit", "reject"] }, { allowed_decisions: ["edit"] }])])),
  }),
  llm_tool_selector: (random, { tools }) => ({
    model: "openai:pick", ...(random.chance(0.5) && { max_tools: random.integer(1, 2) }),
    ...(tools.length > 0 && random.chance(0.4) && { always_include: [random.of(tools)] }),
  }),
  llm_tool_emulator: (random, { tools }) => ({ model: "openai:emulate", ...(tools.length > 0 && { tools: [random.of(tools)] }) }),
  filesystem: () => ({}), patch_tool_calls: () => ({}), subagent: (random, part) => part.drawSubagents(random, part),
  pii: (random) => ({
    pii_type: random.of(["email", "credit_card", "ip", "url"]), strategy: random.of(["redact", "redact", "hash", "block"]),
    apply_to_input: random.chance(0.7), apply_to_output: random.chance(0.5), apply_to_tool_results: random.chance(0.5),
  }),
};

// One entry of an agent's `middleware`; part: number (of the entry), prefix (of a probe's id), tools (names), fields, serial (one
// call in each message), structured (it has a response_format), deep (deepagents' may be among them), isDeep (it is one), within
// (it is a subagent's), mayAsk (a human).
export function drawMiddleware(random, part) {
  const name = random.weighted(weightsFor(part));
  return { [name]: drawn[name](random, part) };
}

// LangChain refuses two of one name.
export const nameOf = (entry) => {
  const [[name, { id, tool_name, pii_type }]] = Object.entries(entry);
  return [name.replace("deepagents_", ""), id ?? tool_name ?? pii_type].join();
};
