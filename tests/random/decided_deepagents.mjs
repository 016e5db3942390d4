// Where deepagents JS and the fleet differ by decision: rules as those of decided.mjs.
import { subagentsOf } from "./agents.mjs";
import { ENOUGH_STEPS } from "./draw_agent.mjs";
import { CHANGING } from "./draw_deepagents.mjs";

const callsOf = ({ tool_calls: calls = [] }) => calls;
const isChange = ({ name }) => name === "task" || CHANGING.includes(name);

// Calls of subagents that have files, too.
function sharing(agent, message) {
  const names = subagentsOf(agent).filter(({ middleware }) => middleware.some((entry) => entry.filesystem)).map(({ name }) => name);
  return callsOf(message).filter(({ name, args }) => name === "task" && names.includes(args.subagent_type));
}

const pauses = (agent) => agent.interrupt_before ?? agent.interrupt_after;

// What deepagents JS asks its model then.
const onlySummary =
  /^You are a conversation summarizer.*to summarize:\n(?:Human: )?You are in the middle of [^<]*<summary>[^<]*<\/summary>\n*Summary:$/s;

// What stands around a model call and makes it once more, asks another one, or changes its messages.
function asksAgain({ model_retry, model_fallback, llm_tool_selector, probe }) {
  const wraps = [probe?.wrap_model_call ?? []].flat();
  return model_retry || model_fallback || llm_tool_selector || wraps.some(({ calls, request }) =>
    calls > 1 || request?.messages_append || request?.messages_keep_last);
}

export const decidedOfDeepagents = [
  {
    rule: "13.8", says: "a subagent that fails says nothing of its answers: whether one did not fit, and its hooks count as steps",
    scenario: ({ agent }) => agent.name !== undefined && agent.recursion_limit < ENOUGH_STEPS &&
      agent.response_format?.strategy === "tool",
  },
  {
    rule: "13.6", says: "a subagent that does not exist is answered with a message, as a tool that does not exist",
    step: ({ agent }, { messages }) => agent.tool_errors === "raise" &&
      messages.flatMap(callsOf).some(({ name, args }) => name === "task" && args.subagent_type === "nobody"),
  },
  {
    rule: "6.6", says: "what must not be tried again passes tool_retry as it is",
    step: ({ agent: { middleware }, script }) => middleware.some((entry) => entry.tool_retry) &&
      middleware.some((entry) => entry.subagent) && Object.keys(script).some((model) =>
      model.startsWith("helper") && script[model].some((reply) => reply.http_error === 400)),
  },
  {
    rule: "6.6", says: "nor is a subagent asked again that has come to its limit of steps",
    scenario: ({ agent: { middleware, recursion_limit } }) => recursion_limit < ENOUGH_STEPS &&
      ["tool_retry", "subagent"].every((name) => middleware.some((entry) => entry[name])),
  },
  {
    rule: "13.13", says: "a subagent that is called again counts its calls anew",
    scenario: ({ agent: { middleware } }) => middleware.some((entry) => entry.tool_retry) &&
      JSON.stringify(middleware.map((entry) => entry.subagent ?? {})).includes('"run_limit"'),
  },
  {
    rule: "subagent.md", says: "what stands around a call whose subagent waits begins anew when that has gone on, not before",
    step: ({ agent: { middleware } }, { status }, { resume }) => (status === "interrupted" || resume !== undefined) &&
      middleware.some((entry) => entry.subagent) && middleware.some(({ probe }) => probe?.wrap_tool_call),
  },
  {
    rule: "subagent.md", says: "what a subagent changed comes back, not all that it saw: two at once keep each other's work",
    step: ({ agent, steps }, { messages }, step) => messages.some((message, at) => sharing(agent, message).length > 1 &&
      (messages.slice(0, at).flatMap(callsOf).some(isChange) || [...steps, step].some(({ input }) => input?.files))),
  },
  {
    rule: "deep-agents.md", says: "a file that a subagent deletes is deleted for its parent, too",
    step: (_, { isSubagent, messages }) => isSubagent && messages.flatMap(callsOf).some(({ name }) => name === "delete"),
  },
  {
    rule: "deepagents_summarization.md", says: "its hooks are steps, what it keeps is a file, and a model asked again has the same summary",
    scenario: ({ agent, agent: { middleware, recursion_limit } }) => middleware.some((entry) => entry.deepagents_summarization) &&
      (recursion_limit < ENOUGH_STEPS || pauses(agent) || middleware.some((entry) => entry.filesystem || asksAgain(entry))),
  },
  {
    rule: "5", says: "a structured answer behind a summary is one all the same",
    scenario: ({ agent }) => agent.response_format && agent.middleware.some((entry) => entry.deepagents_summarization),
  },
  {
    rule: "deepagents_summarization.md", says: "a summary that is all there is to sum up is not summed up again",
    step: (_, { requests }) => requests.some(({ model, messages }) => model === "sum" && onlySummary.test(messages[0].content)),
  },
  {
    rule: "deepagents_summarization.md", says: "a summary is kept that was made in front of a model call that fails",
    step: ({ agent }, { status }) => status === "error" && agent.middleware.some((entry) => entry.deepagents_summarization),
  },
];
