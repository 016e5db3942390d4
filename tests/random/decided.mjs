// Where LangChain JS and the fleet differ because the semantics decide so, each with the rule that does: a number of
// docs/internals/semantics.md, mostly of section 13, or the page of the middleware. With `scenario` what meets one is drawn
// anew; with `step` the scenario ends in front of that step, with `after` behind it. Nothing else is left out: mended() puts
// right what differs in a message or a field.
//
// Never drawn, so that there is no rule for it: arguments that are not JSON (13.7); write_todos, a return_direct tool or a
// schema's called twice in a message, or beside others (13.8, 13.9); an input with open calls (13.5); a summary that fails
// (13.15); a review that rejects one call and approves another (13.14); jumps that are not declared, or by after_agent to the
// end (13.3); tool_retry's retry_on (6.6); pii's masks (6.8); fields that are ephemeral, private, untracked or left out of
// input or output, which LangChain JS has otherwise or not.
import { agentsOf, askedBy } from "./agents.mjs";
import { ENOUGH_STEPS } from "./draw_agent.mjs";
import { decidedOfDeepagents } from "./decided_deepagents.mjs";
import { deepTools } from "./draw_deepagents.mjs";
import { ANY } from "./middleware.mjs";
import { hasLoneResult, hasOpenCall } from "./messages.mjs";

const nameOf = (entry) => Object.keys(entry)[0];

// What of LangChain's middleware is a node hook.
const nodeHooks = {
  model_call_limit: ["before_model", "after_model"], tool_call_limit: ["after_model"], summarization: ["before_model"],
  pii: ["before_model", "after_model"], todo_list: ["after_model"], human_in_the_loop: ["after_model"],
  patch_tool_calls: ["before_agent"],
};
const hooksOf = (entry) => entry.probe ? Object.keys(entry.probe) : nodeHooks[nameOf(entry)] ?? [];
const firstWith = ({ middleware }, hook) => middleware.findIndex((entry) => hooksOf(entry).includes(hook));
const has = (agent, hook) => firstWith(agent, hook) >= 0;
const pauses = (agent) => agent.interrupt_before ?? agent.interrupt_after;

// The jumps of an agent: {hook, target, at: index of the middleware}.
function jumpsOf({ middleware }) {
  return middleware.flatMap((entry, at) => {
    const [[name, settings]] = Object.entries(entry);
    if (name === "probe") {
      return Object.entries(settings).flatMap(([hook, actions]) => [actions].flat().filter(({ jump_to }) => jump_to)
        .map(({ jump_to: target }) => ({ hook, target, at })));
    }
    const hook = { model_call_limit: "before_model", tool_call_limit: "after_model" }[name];
    return hook && settings.exit_behavior === "end" ? [{ hook, target: "end", at }] : [];
  });
}

const wraps = (entry) => [entry.probe?.wrap_model_call ?? []].flat();
const asksAgain = (entry) => wraps(entry).some(({ calls }) => calls > 1);
const writesWithAnswer = (entry) => wraps(entry).some(({ update }) => update);
const number = (id) => Number(id.slice(1)); // draw.mjs numbers the calls
const usesTools = ({ response_format: format }) => format?.strategy === "tool";
const isText = (format, text) => text.startsWith("Returning structured response:") || text === format.tool_message_content;
const isUnfit = ({ type, name }) => type === "tool" && name === undefined; // its answer, in LangChain JS
const doesNotFit = ({ name, args }) => args.a === "one" || (name === "task" && args.subagent_type === undefined) ||
  (name === "read_file" && args.file_path === undefined);
const says = ({ middleware }, name) => JSON.stringify(middleware.filter(({ subagent }) => !subagent)).includes(`"${name}"`);

const decided = [
  ...decidedOfDeepagents,
  {
    rule: "deepagents_summarization.md", says: "it is a before_model: what those behind it write it does not see, and they end the run behind it",
    scenario: ({ agent: { middleware } }) => middleware.some((entry, at) =>
      entry.deepagents_summarization && middleware.slice(at + 1).some((other) => hooksOf(other).includes("before_model"))),
  },
  {
    rule: "13.3", says: "a jump to the end passes through after_agent, whichever hook's it is",
    scenario: ({ agent }) => has(agent, "after_agent") && jumpsOf(agent).some(({ hook, target, at }) =>
      target === "end" && (hook === "before_model" || (hook === "after_model" && at !== firstWith(agent, hook)))),
  },
  {
    rule: "13.3", says: "a jump to the model goes to the first before_model",
    scenario: ({ agent }) => has(agent, "before_model") && jumpsOf(agent).some(({ target }) => target === "model"),
  },
  {
    rule: "13.3", says: "a jump to the model asks it, behind a return_direct tool, too",
    scenario: ({ agent }) => agent.tools.includes("direct") &&
      jumpsOf(agent).some(({ hook, target }) => hook === "after_agent" && target === "model"),
  },
  {
    rule: "1.5", says: "a jump of the last after_model to run counts, whether there are calls or not",
    scenario: ({ agent }) => jumpsOf(agent).some(({ hook, target, at }) =>
      hook === "after_model" && target !== "end" && at === firstWith(agent, hook)),
  },
  {
    rule: "middleware.md", says: "when a wrap asks its handler again, updates of the answer before fall away",
    scenario: ({ agent: { middleware } }) =>
      middleware.some((entry, at) => asksAgain(entry) && middleware.slice(at + 1).some(writesWithAnswer)),
  },
  {
    rule: "13.4", says: "when every call is answered the model is asked again",
    step: (_, { status, messages, structured_response: structured }) => status === "success" && structured === null &&
      messages.at(-1)?.type === "tool" && (messages.at(-1).name !== "direct" || messages.at(-1).status === "error"),
  },
  {
    rule: "13.4", says: "it is asked again from the loop's start, also where a structured answer is to come",
    step: ({ agent }, { messages }) => agent.response_format && has(agent, "before_model") &&
      messages.some(({ type, content }) => type === "tool" && /^Tool call limit exceeded|never be called multiple times/.test(content)),
  },
  {
    rule: "13.8", says: "a structured answer that fits ends the run, whatever a hook puts behind it",
    scenario: ({ agent }) => agent.response_format && agent.middleware.some(({ probe }) =>
      [probe?.after_model ?? []].flat().some(({ update }) => update?.messages)),
  },
  {
    rule: "13.19", says: "a structured answer adds no message of its own behind the tool's: what counts messages sees fewer",
    scenario: ({ agent }) => usesTools(agent) &&
      ["message_count", "messages_keep_last", "summarization"].some((name) => says(agent, name)),
  },
  {
    rule: "1.5", says: "without a tools node text where a structured answer is asked for sends the model back to it",
    scenario: ({ agent }) => usesTools(agent) && agent.tools.length === 0,
  },
  {
    rule: "13.8", says: "behind a structured answer that does not fit the loop goes on, with after_model and before_model",
    step: ({ agent }, did) =>
      did.messages.some(isUnfit) && ["after_model", "before_model", "after_agent"].some((hook) => has(agent, hook)),
  },
  {
    rule: "13.8", says: "a structured answer is the thread's until its next input: a run that goes on has it, too",
    step: ({ agent }, did, { resume }) => agent.response_format && resume !== undefined && did.status === "success" &&
      did.structured_response === null,
  },
  {
    rule: "6.10", says: "no result stays whose call was summed up, also where another message stands between them",
    step: (_, did) => hasLoneResult(did.messages),
  },
  {
    rule: "3.4", says: "where an answer by a tool's call is asked for, the model must call one, whatever a wrap says",
    scenario: ({ agent }) => usesTools(agent) && says(agent, "tool_choice"),
  },
  {
    rule: "3.4", says: "a request without tools has no choice of one",
    step: (_, { requests }) => requests.some(({ tools, tool_choice: choice }) => choice && tools.length === 0),
  },
  {
    rule: "5", says: "what a wrap makes of a structured answer counts, also of one that does not fit",
    step: ({ agent }, did) => says(agent, "content_suffix") && did.messages.some(isUnfit),
  },
  {
    rule: "13.9", says: "a return_direct call ends the run of an agent with a response_format, too",
    scenario: ({ agent }) => agent.response_format && agent.tools.includes("direct"),
  },
  {
    rule: "13.13", says: "limits have no after_agent to set their counters back in: no step of it counts, or is stopped in front of",
    scenario: ({ agent }) => says(agent, "exit_behavior") && (agent.interrupt_after || agent.recursion_limit < ENOUGH_STEPS),
  },
  {
    rule: "13.13", says: "a run's calls are counted anew, however the run before ended or stopped",
    after: ({ agent }, did) => says(agent, "run_limit") &&
      (did.status !== "success" || jumpsOf(agent).some(({ target }) => target === "end")),
  },
  {
    rule: "13.5", says: "a limit that ends the run answers all open calls",
    step: (_, { error, messages }) => error?.startsWith("Cannot end execution with other tool calls pending") ||
      (/tool call limit reached/i.test(messages.at(-1)?.content) && hasOpenCall(messages)),
  },
  {
    rule: "13.6", says: "arguments that do not fit are answered with a message, which wraps see as one",
    step: ({ agent }, did) => agent.tool_errors === "raise" &&
      did.messages.some(({ tool_calls: calls = [] }) => calls.some(doesNotFit)),
  },
  {
    rule: "13.14", says: "what a human rejects goes back to the loop's start, with before_model, behind all after_model",
    step: ({ agent, agent: { middleware } }, _, { resume }) => resume?.decisions.some(({ type }) => type === "reject") &&
      (has(agent, "before_model") || !middleware[firstWith(agent, "after_model")]?.human_in_the_loop),
  },
  {
    rule: "13.3", says: "a jump to the tools runs the calls that wait: without any there is nothing to stop at",
    scenario: ({ agent }) => pauses(agent)?.includes("tools") && jumpsOf(agent).some(({ target }) => target === "tools"),
  },
  {
    rule: "pii.md", says: "what must not be stored is not, in front of after_model either",
    scenario: ({ agent }) => (pauses(agent) || says(agent, "human_in_the_loop")) &&
      agent.middleware.some(({ pii }) => pii?.apply_to_output || pii?.apply_to_tool_results),
  },
  {
    rule: "pii.md", says: "an answer or a result that `block` refuses never comes into the thread",
    step: ({ agent }, did) => did.messages.at(-1)?.type !== "human" && (did.error?.startsWith("PII detected") ||
      // It had not come to be refused there: another call of its round failed the run.
      (did.status === "error" && did.messages.at(-1)?.type === "tool" &&
        agent.middleware.some(({ pii }) => pii?.strategy === "block" && pii.apply_to_tool_results))),
  },
  {
    rule: "human_in_the_loop.md", says: "a call that a limit has answered already is not asked about",
    step: (_, { status, messages }) => status === "interrupted" && messages.at(-1)?.type === "tool" &&
      messages.at(-1).content.startsWith("Tool call limit exceeded"),
  },
  {
    rule: "13.14", says: "a review keeps the order of the calls",
    step: (_, { messages, requests }) => [...messages, ...requests.flatMap((request) => request.messages)]
      .some(({ tool_calls: calls }) => calls?.some(({ id }, i) => i > 0 && number(id) < number(calls[i - 1].id))),
  },
  {
    rule: "threads.md", says: "what runs beside a call that fails the run has a while to end: one that asks a model may, or not",
    step: ({ agent }, did) => did.status === "error" && agent.middleware.some((entry) => entry.llm_tool_emulator ?? entry.subagent) &&
      (did.messages.findLast(({ type }) => type === "ai")?.tool_calls ?? []).length > 1,
  },
  {
    rule: "threads.md", says: "what ran beside calls that fail the run is kept",
    step: (_, { error }) => error?.startsWith("Multiple errors occurred"),
  },
  {
    rule: "13.5", says: "when a run starts, and in front of a model call, each open call is answered",
    step: (_, did) => did.requests.some(({ messages }) => hasOpenCall(messages)) ||
      hasOpenCall(did.messages.slice(0, did.messages.findLastIndex(({ type }) => type === "human"))),
  },
];

// For what LangChain JS cannot play: behind such an answer it goes on and to the end at once, and both may write a field.
export const torn = { rule: "13.8", says: "behind a structured answer that does not fit the loop goes on, and nothing beside it" };

// The rules are of an agent: of the one that runs, and of each of its subagents.
export const leftOut = ({ agent }) =>
  decided.find((one) => one.scenario && agentsOf(agent).some((each) => one.scenario({ agent: each })));
export const endsBefore = (scenario, did, step) => decided.find((one) =>
  one.step && [{ ...did, agent: scenario.agent }, ...did.subagents].some((each) =>
    one.step({ ...scenario, agent: each.agent }, each, step)));
export const endsAfter = (scenario, did) => decided.find((one) => one.after?.(scenario, did));

// The tools of middleware stand in front (1); LangChain JS has them behind the agent's.
function inFront(agent, names) {
  const ofMiddleware = new Set(["write_todos", ...deepTools(agent)]);
  return [...names.filter((name) => ofMiddleware.has(name)), ...names.filter((name) => !ofMiddleware.has(name))];
}

// A structured answer by a tool's call adds the tool's message alone (13.19); LangChain JS adds one of the model, too.
const withoutExtra = ({ response_format: format }, messages) =>
  messages.filter(({ type, role, content }) => !(format && (type ?? role) !== "tool" && isText(format, content)));

// Editing is the request's alone (13.15); LangChain JS edits the thread.
function unedited(agent, message) {
  const [edit] = agent.middleware.flatMap((entry) => entry.context_editing?.edits ?? []);
  if (message.type === "tool" && message.content === edit?.placeholder) return { ...message, content: ANY, status: ANY };
  if (!edit?.clear_tool_inputs || message.tool_calls === undefined) return message;
  const calls = message.tool_calls.map((call) => Object.keys(call.args).length === 0 ? { ...call, args: ANY } : call);
  return { ...message, tool_calls: calls };
}

function mendedRequest(agent, request) {
  const asking = askedBy(agent, request.model) ?? agent;
  return { ...request, tools: inFront(asking, request.tools), messages: withoutExtra(asking, request.messages) };
}

export const mended = ({ agent }, did) => ({
  ...did, messages: withoutExtra(agent, did.messages).map((message) => unedited(agent, message)),
  requests: did.requests.map((request) => mendedRequest(agent, request)),
});
