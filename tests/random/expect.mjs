// What LangChain did in a step, as `expect` of the scenario format: all of it, but for what is LangChain's own wording.
import { agentsOf, askedBy } from "./agents.mjs";
import { deepAnswer, filesOf } from "./expect_deepagents.mjs";
import { allFields } from "./langchain.mjs";
import { hasOpenCall, plain } from "./messages.mjs";
import { ANY } from "./middleware.mjs";

// Of models that middleware asks by itself the requests' wording is free.
const INTERNAL = ["sum", "pick", "emulate"];
const SUMMARY = /^Here is a summary of the conversation to date:\n\n(.*)$/s;

// LangChain's words, and which of them the fleet's must have, too.
const words = [
  [/^\w+: (.*)\n Please fix your mistakes\.$/s, (text) => `<contains:${text}>`],
  [/^Error: (\S+) is not a valid tool/, (name) => `<contains:${name}>`],
  [/^Error invoking tool '(\S+)'/, (name) => `<contains:${name}>`],
  [/^Tool '(\S+)' failed after/, (name) => `<contains:${name}>`],
  [/^Model call failed after .*(server broke|slow down|bad request|no reply left|wrap of \w+ broke)/s,
    (text) => `<contains:${text}>`],
  [/^Model call failed after/, () => ANY],
  [/^User rejected the tool call for `(\S+)`/, (name) => `<contains:${name}>`],
  [/^(no way)$/, (reason) => `<contains:${reason}>`], // why a call was rejected
  [/^You are in the middle of a conversation.*<summary>\n(.*)\n<\/summary>/s, (text) => `<contains:${text}>`],
  [SUMMARY, (text) => `<contains:${text}>`],
  [/^Tool call limit exceeded|tool call limit reached|^Model call limits exceeded|^Updated todo list|^<any>/i, () => ANY],
];

function worded(text) {
  const found = words.find(([pattern]) => pattern.test(text));
  return found ? found[1](found[0].exec(text)[1]) : text;
}

const GENERAL_PROMPT = "In order to complete the objective that the user asks of you"; // of the general-purpose agent

// todo_list and deepagents' middleware append prompts of their own to the system message.
function system(text) {
  const [own, ...prompt] = text.split(/(?:\n\n)?## `write_todos`|(?:\n\n)?## (?:Following Conventions|Filesystem Tools|`task`)/);
  if (own.startsWith(GENERAL_PROMPT)) return ANY;
  if (prompt.length === 0) return text;
  return own === "" ? ANY : `<contains:${own}>`;
}

// named: id of a call -> its tool; outputs: of an agent, calls of tools that are schemas (the answer's words are LangChain's, and
// whether an unfit one is an error), and which text is not its words.
function answered({ tool_call_id: id, content, status }, { calls, text }, named) {
  if (calls.has(id) && content !== text) return ANY;
  return (id && deepAnswer(named.get(id), content, status)) ?? worded(content);
}

function expectedMessage({ id, status, ...message }, outputs, named) {
  const content = answered({ ...message, status }, outputs, named);
  const isFree = outputs.calls.has(message.tool_call_id) || deepAnswer(named.get(message.tool_call_id), message.content, status);
  const expected = { ...message, content, ...(!isFree && { status }) };
  return id?.startsWith("given-") && !SUMMARY.test(message.content) ? { id, ...expected } : expected;
}

function expectedRequest(request, outputs, named) {
  if (INTERNAL.includes(request.model)) return { model: request.model };
  const messages = request.messages.map((message) =>
    ({ ...message, content: message.role === "system" ? system(message.content) : answered(message, outputs, named) }));
  const format = request.response_format && { response_format: { type: request.response_format.type } };
  return { ...request, messages, ...format };
}

const callsOf = (messages) => messages.flatMap((message) => message.tool_calls ?? []);
const toolsCalled = (script, { messages, requests }) =>
  new Map([...Object.values(script), messages, ...requests.map((request) => request.messages)].flatMap(callsOf)
    .map(({ id, name }) => [id, name]));

function outputsOf({ response_format: format }, named) {
  const names = format === undefined ? [] : (format.schemas ?? [format.schema]).map(({ title }) => title);
  return { calls: new Set([...named.keys()].filter((id) => names.includes(named.get(id)))), text: format?.handle_errors };
}

// Of a call: also what its subagent does.
const isOfTools = ({ at }) => at.startsWith("tool:") || at.includes(".wrap_tool_call") || at.startsWith("C");

// What ran at the same time, in any order.
function ordered(entries, parallel, value) {
  const groups = [];
  for (const entry of entries) {
    const last = groups.at(-1);
    if (parallel && isOfTools(entry) && last?.round === entry.round) last.values.push(value(entry));
    else groups.push({ round: parallel && isOfTools(entry) ? entry.round : undefined, values: [value(entry)] });
  }
  return groups.map(({ values }) => values.length === 1 ? values[0] : ["<unordered>", ...values]);
}

function errorText({ failure, error }) {
  let root = failure;
  while (root.cause instanceof Error) root = root.cause;
  const [, text] = /^\d{3} (.*)$/.exec(root.message) ?? [];
  if (text !== undefined) return { error: `<contains:${text}>` };
  return root.constructor.name === "Fault" ? { error: `<contains:${error}>` } : {};
}

const isEmpty = (value) => value === 0 || (typeof value === "object" && Object.keys(value ?? {}).length === 0);

// LangChain has the zero of a reducer before anything was written; what is written is never zero again (draw_middleware.mjs).
function written(agent, found) {
  const fields = { ...allFields(agent), todos: { reducer: true }, files: { reducer: true } };
  return plain(Object.fromEntries(Object.entries(found).filter(([name, value]) =>
    !(fields[name]?.reducer && fields[name].default === undefined && isEmpty(value)))));
}

function stateOf(agent, state) {
  const names = [...Object.keys(allFields(agent)), "todos"];
  return written(agent, { ...Object.fromEntries(names.map((name) => [name, state[name]])), files: filesOf(agent, state.files) });
}

const interruptOf = (value) => ({
  ...value, action_requests: value.action_requests.map((one) => ({ ...one, description: ANY })),
});

// Subagents that may run at the same time ask their models in any order.
function orderedRequests(agent, requests, parallel) {
  const entries = requests.map((request) => ({ at: askedBy(agent, request.model) ? "C" : "", request, round: 0 }));
  return ordered(entries, parallel, ({ request }) => request);
}

const several = (messages) => messages.some(({ tool_calls: calls }) => calls?.length > 1);

export function expectationOf({ agent, script }, did) {
  const named = toolsCalled(script, did);
  const outputs = new Map(agentsOf(agent).map((one) => [one.model, outputsOf(one, named)]));
  const outputsFor = (model) => outputs.get(`openai:${model}`) ?? outputs.get(agent.model);
  const parallel = several(agentsOf(agent).length > 1 ? Object.values(script).flat() : did.messages);
  const messages = did.messages.map((message) => expectedMessage(message, outputs.get(agent.model), named));
  const expect = { status: did.status, messages };
  if (did.status === "error") Object.assign(expect, errorText(did));
  else Object.assign(expect, { state: stateOf(agent, did.state), structured_response: did.structured_response });
  if (did.interrupts.length > 0) expect.interrupts = did.interrupts.map(interruptOf);
  // How far what ran beside a call that failed came is chance.
  if (did.status === "error" && parallel && hasOpenCall(did.messages)) return expect;
  const requests = did.requests.map((request) => expectedRequest(request, outputsFor(request.model), named));
  return {
    ...expect, requests: orderedRequests(agent, requests, parallel),
    seen: did.seen.map((one) => written(agent, one)), trace: ordered(did.entries, parallel, ({ at }) => at),
    tool_calls: ordered(did.entries.filter(({ call }) => call), parallel, ({ call }) => call),
  };
}
