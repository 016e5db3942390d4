// A random scenario: agent, tools, the model's replies; and its next step, which depends on what LangChain has done so far.
import { drawAgent } from "./draw_agent.mjs";
import { drawFiles } from "./draw_deepagents.mjs";
import { drawFault, drawUpdate, drawValue, folded, PII_TEXTS, stateFields } from "./draw_middleware.mjs";
import { drawScript } from "./draw_replies.mjs";

const text = { type: "string" }, number = { type: "number" };

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

export function drawScenario(random) {
  const serial = random.chance(0.5), deep = random.chance(0.5);
  const fields = random.chance(0.3) ? [] : random.some(Object.keys(stateFields), 0.4);
  const tools = drawTools(random, fields, serial);
  const agent = drawAgent(random, tools.map(({ name }) => name), fields, { serial, deep });
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

// An open call only where it is answered in deepagents, too: the fleet answers each. A round of several is not summed up (6.25, as
// in draw_weights.mjs).
function drawHistory(random, { tools: [name = "ghost"], middleware }, patches) {
  const calls = [{ id: "o1", name, args: { a: 1, b: 1, q: "x" } }];
  if (patches && random.chance(0.6) && !middleware.some((entry) => entry.deepagents_summarization)) calls[random.of(["push", "unshift"])]({ id: "o2", name, args: { a: 2, b: 2, q: "y" } });
  return [
    { type: "human", content: "earlier", id: "given-1" },
    { type: "ai", content: "", id: "given-2", tool_calls: calls },
    { type: "tool", content: "earlier result", id: "given-3", tool_call_id: "o1", name },
  ];
}

// last: what LangChain did in the step before, if any.
export function drawStep(random, { agent }, last) {
  const patches = agent.middleware.some((entry) => entry.patch_tool_calls);
  if (last?.status === "interrupted" && !(patches && random.chance(0.3))) {
    const [value] = last.interrupts;
    return { resume: value === undefined ? null : { decisions: drawDecisions(random, value) } };
  }
  if (last?.status === "error" && random.chance(0.6)) return { resume: null };
  const messages = last === undefined && random.chance(patches ? 0.5 : 0.15) ? drawHistory(random, agent, patches) : [];
  messages.push({ type: "human", content: random.of(["go", "again", random.of(PII_TEXTS)]) });
  const fields = random.some(Object.keys(agent.state ?? {}), 0.25);
  const input = { messages, ...Object.fromEntries(fields.map((name) => [name, drawValue(random, name)])) };
  if (agent.middleware.some((entry) => entry.filesystem) && random.chance(0.3)) input.files = drawFiles(random);
  return { input };
}
