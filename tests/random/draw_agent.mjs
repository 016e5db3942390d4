// The agents of a random scenario: the one that runs, and its subagents.
import { meanAlso } from "./draw_deepagents.mjs";
import { drawMiddleware, nameOf, stateFields } from "./draw_middleware.mjs";

export const ENOUGH_STEPS = 100;
const text = { type: "string" };
const output = (title, property) => ({ title, type: "object", properties: { [property]: text }, required: [property] });

const wrapsTools = (entry) =>
  entry.tool_retry || entry.tool_error || entry.llm_tool_emulator || entry.filesystem || entry.probe?.wrap_tool_call;

function drawFormat(random) {
  const [contact, event] = [output("Contact", "name"), output("Event", "what")];
  const format = random.chance(0.3) ? { strategy: "tool", schemas: [contact, event] }
    : { strategy: random.of(["tool", "tool", "provider"]), schema: contact };
  const more = format.strategy === "tool";
  if (more && random.chance(0.3)) format.handle_errors = random.of([true, false, "try again"]);
  if (more && random.chance(0.2)) format.tool_message_content = "Noted.";
  return format;
}

// So many entries of a `middleware`, behind first; fewer when some are drawn twice, which LangChain refuses.
function drawStack(random, count, part, first = []) {
  const stack = [];
  const deepOne = part.deep && !part.within ? random.integer(0, count - 1) : -1;
  for (let number = 0; number < count; number++) {
    const entry = drawMiddleware(random, { ...part, number, isDeep: number === deepOne });
    if (![...first, ...stack].some((other) => nameOf(other) === nameOf(entry))) stack.push(entry);
  }
  return meanAlso(random, stack);
}

// LangChain ends a run by a tool's error if, and only if, a middleware wraps tool calls.
const errorsOf = (middleware) => middleware.some(wrapsTools) ? { tool_errors: "raise" } : {};

/* --- subagents ---------------------------------------------------------------------------------------------------- */

// What deepagents gives back of a subagent's state is all of it: fields that lose nothing by that (middleware/subagent.md).
const shared = (fields) => fields.filter((name) => !stateFields[name].reducer);

function drawSubagent(random, number, part, settings) {
  const own = random.chance(0.8) ? random.some(part.allTools, 0.6) : undefined;
  const one = { name: `helper${number}`, description: `Helps with ${number}.`, system_prompt: `You are helper ${number}.` };
  if (number > 1 || settings.general_purpose_agent || random.chance(0.7)) one.model = `openai:helper${number}`;
  if (own) one.tools = own;
  if (random.chance(0.15)) one.response_format = drawFormat(random);
  const inside = {
    ...part, prefix: `C${number}P`, tools: own ?? settings.default_tools, fields: part.serial ? shared(part.fields) : [],
    structured: one.response_format !== undefined, within: true, mayAsk: part.serial || number === 1,
  };
  const first = settings.default_middleware ?? [];
  one.middleware = drawStack(random, Number(random.weighted({ 0: 3, 1: 6, 2: 4, 3: 2 })), inside, first);
  return { ...one, ...errorsOf([...first, ...one.middleware]) };
}

// The settings of the middleware subagent.
function drawSubagents(random, part) {
  const settings = {
    default_model: "openai:helper0", default_tools: random.some(part.allTools, 0.4), general_purpose_agent: random.chance(0.3),
  };
  if (random.chance(0.25)) {
    const files = settings.general_purpose_agent ? [] : [{ filesystem: {} }]; // would make it raise
    settings.default_middleware = [random.of([{ patch_tool_calls: {} }, { todo_list: {} }, ...files, ...files])];
  }
  const count = random.integer(settings.general_purpose_agent ? 0 : 1, 2);
  settings.subagents = Array.from({ length: count }, (_, i) => drawSubagent(random, i + 1, part, settings));
  return settings;
}

/* --- the agent ---------------------------------------------------------------------------------------------------- */

// allTools: names of the scenario's; deep: with deepagents' middleware.
export function drawAgent(random, allTools, fields, { serial, deep }) {
  const tools = random.some(allTools, 0.6);
  const agent = { model: "openai:main", tools, middleware: [] };
  if (random.chance(0.5)) agent.system_prompt = "Be brief.";
  const own = random.some(fields, 0.75);
  if (own.length > 0) agent.state = Object.fromEntries(own.map((name) => [name, stateFields[name]]));
  if (random.chance(0.2)) agent.response_format = drawFormat(random);
  const part = {
    prefix: "P", tools, allTools, fields, serial, deep, structured: agent.response_format !== undefined, mayAsk: true,
    drawSubagents,
  };
  agent.middleware = drawStack(random, Number(random.weighted({ 0: 1, 1: 6, 2: 8, 3: 6, 4: 3 })), part);
  Object.assign(agent, errorsOf(agent.middleware));
  agent.recursion_limit = random.chance(0.06) ? random.integer(3, 14) : ENOUGH_STEPS;
  if (random.chance(0.08)) {
    agent[random.of(["interrupt_before", "interrupt_after"])] = [random.of(tools.length > 0 ? ["model", "tools"] : ["model"])];
  }
  return agent;
}
