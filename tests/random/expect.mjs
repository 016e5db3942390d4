// What LangChain did in a step, as `expect` of the scenario format: all of it, but for what is LangChain's own wording.
import { allFields, ANY } from "./langchain.mjs";
import { hasOpenCall, plain } from "./messages.mjs";

// Of models that middleware asks by itself the requests' wording is free.
const INTERNAL = ["sum", "pick", "emulate"];
const SUMMARY = /^Here is a summary of the conversation to date:\n\n(.*)$/s;

// LangChain's words, and which of them the fleet's must have, too.
const words = [
  [/^\w+: (.*)\n Please fix your mistakes\.$/s, (text) => `<contains:${text}>`],
  [/^Error: (\S+) is not a valid tool/, (name) => `<contains:${name}>`],
  [/^Error invoking tool '(\S+)'/, (name) => `<contains:${name}>`],
  [/^Tool '(\S+)' failed after/, (name) => `<contains:${name}>`],
  [/^Model call failed after .*(server broke|slow down|bad request|no reply left|wrap of P\d broke)/s,
    (text) => `<contains:${text}>`],
  [/^Model call failed after/, () => ANY],
  [/^User rejected the tool call for `(\S+)`/, (name) => `<contains:${name}>`],
  [/^(no way)$/, (reason) => `<contains:${reason}>`], // why a call was rejected
  [SUMMARY, (text) => `<contains:${text}>`],
  [/^Tool call limit exceeded|tool call limit reached|^Model call limits exceeded|^Updated todo list|^<any>/i, () => ANY],
];

function worded(text) {
  const found = words.find(([pattern]) => pattern.test(text));
  return found ? found[1](found[0].exec(text)[1]) : text;
}

// todo_list appends a prompt of its own to the system message.
function system(text) {
  const [own, ...prompt] = text.split(/(?:\n\n)?## `write_todos`/);
  if (prompt.length === 0) return text;
  return own === "" ? ANY : `<contains:${own}>`;
}

// outputs: of calls of tools that are schemas the answer's words are LangChain's, and whether an unfit one is an error.
function expectedMessage({ id, status, ...message }, { calls, text }) {
  const content = calls.has(message.tool_call_id) && message.content !== text ? ANY : worded(message.content);
  const expected = calls.has(message.tool_call_id) ? { ...message, content } : { ...message, content, status };
  return id?.startsWith("given-") && !SUMMARY.test(message.content) ? { id, ...expected } : expected;
}

function expectedRequest(request, { calls, text }) {
  if (INTERNAL.includes(request.model)) return { model: request.model };
  const content = (message) => calls.has(message.tool_call_id) && message.content !== text ? ANY : worded(message.content);
  const messages = request.messages.map((message) =>
    ({ ...message, content: message.role === "system" ? system(message.content) : content(message) }));
  const format = request.response_format && { response_format: { type: request.response_format.type } };
  return { ...request, messages, ...format };
}

function outputsOf({ response_format: format }, messages) {
  const names = format === undefined ? [] : (format.schemas ?? [format.schema]).map(({ title }) => title);
  const calls = messages.flatMap((message) => message.tool_calls ?? []).filter(({ name }) => names.includes(name));
  return { calls: new Set(calls.map(({ id }) => id)), text: format?.handle_errors };
}

const isOfTools = ({ at }) => at.startsWith("tool:") || at.includes(".wrap_tool_call");

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
  const fields = { ...allFields(agent), todos: { reducer: true } };
  return plain(Object.fromEntries(Object.entries(found).filter(([name, value]) =>
    !(fields[name]?.reducer && fields[name].default === undefined && isEmpty(value)))));
}

function stateOf(agent, state) {
  const names = [...Object.keys(allFields(agent)), "todos"];
  return written(agent, Object.fromEntries(names.map((name) => [name, state[name]])));
}

const interruptOf = (value) => ({
  ...value, action_requests: value.action_requests.map((one) => ({ ...one, description: ANY })),
});

export function expectationOf({ agent }, did) {
  const outputs = outputsOf(agent, did.messages);
  const parallel = did.messages.some(({ tool_calls: calls }) => calls?.length > 1);
  const expect = { status: did.status, messages: did.messages.map((message) => expectedMessage(message, outputs)) };
  if (did.status === "error") Object.assign(expect, errorText(did));
  else Object.assign(expect, { state: stateOf(agent, did.state), structured_response: did.structured_response });
  if (did.interrupts.length > 0) expect.interrupts = did.interrupts.map(interruptOf);
  // How far what ran beside a call that failed came is chance.
  if (did.status === "error" && parallel && hasOpenCall(did.messages)) return expect;
  return {
    ...expect, requests: did.requests.map((request) => expectedRequest(request, outputs)),
    seen: did.seen.map((one) => written(agent, one)), trace: ordered(did.entries, parallel, ({ at }) => at),
    tool_calls: ordered(did.entries.filter(({ call }) => call), parallel, ({ call }) => call),
  };
}
