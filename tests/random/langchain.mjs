// One scenario in the real LangChain JS: what it did, step by step. What of that the fleet must do, too, is expect.mjs's.
import { Command, MemorySaver, ReducedValue, StateSchema } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import * as lc from "langchain";
import { z } from "zod";
import { fromLangChain, fromRequest, plain, toLangChain } from "./messages.mjs";
import { outcomeTool, probe, unsaid } from "./probe.mjs";

const STEP_MS = 20000;
export const ANY = "<any>"; // as the content of a message: matches all of the fleet's

/* --- state -------------------------------------------------------------------------------------------------- */

const types = {
  integer: z.number(), number: z.number(), string: z.string(), boolean: z.boolean(), array: z.array(z.any()),
  object: z.record(z.string(), z.any()),
};
const reducers = {
  append: { zero: [], fold: (old, more) => [...old, ...[more].flat()] },
  add: { zero: 0, fold: (old, more) => old + more },
  merge: {
    zero: {},
    fold: (old, more) => Object.fromEntries(Object.entries({ ...old, ...more }).filter(([, value]) => value !== null)),
  },
};

function field({ type, reducer, default: initial }) {
  if (reducer) {
    const { zero, fold } = reducers[reducer];
    const schema = z.any().default(() => structuredClone(initial ?? zero));
    return new ReducedValue(schema, { inputSchema: z.any(), reducer: (old, more) => more === undefined ? old : fold(old, more) });
  }
  return initial === undefined ? types[type].optional() : types[type].default(initial);
}

const stateSchema = (fields) =>
  new StateSchema(Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, field(one)])));

// Of the agent and all its probes.
export const allFields = (agent) =>
  Object.assign({}, agent.state, ...(agent.middleware ?? []).map((one) => one.probe?.state));

/* --- the agent ---------------------------------------------------------------------------------------------- */

// {snake_case: camelCase} of what LangChain JS calls the same.
function settings(given, names) {
  return Object.fromEntries(Object.entries(names).filter(([name]) => given[name] !== undefined)
    .map(([name, theirs]) => [theirs, given[name]]));
}

const size = ([kind, value]) => ({ [kind]: value });

function failsWith(types) {
  return (error) => {
    let root = error;
    while (lc.MiddlewareError.isInstance(root) && root.cause) root = root.cause;
    return types.some((type) => type === "Exception" || type === root.name || type === root.constructor.name);
  };
}

function retry(given) {
  const { initial_delay, retry_on } = given;
  return {
    ...settings(given, { max_retries: "maxRetries", jitter: "jitter", on_failure: "onFailure", tools: "tools" }),
    initialDelayMs: initial_delay * 1000, ...(retry_on && { retryOn: failsWith(retry_on) }),
  };
}

function reviewed(given) {
  if (typeof given === "boolean") return given;
  return { allowedDecisions: given.allowed_decisions };
}

function clearing({ trigger, keep, clear_tool_inputs, exclude_tools, placeholder }) {
  return new lc.ClearToolUsesEdit({
    trigger: { tokens: trigger }, keep: { messages: keep }, clearToolInputs: clear_tool_inputs, excludeTools: exclude_tools,
    placeholder,
  });
}

const limits = { tool_name: "toolName", thread_limit: "threadLimit", run_limit: "runLimit", exit_behavior: "exitBehavior" };
const builtIn = {
  model_call_limit: (given) => lc.modelCallLimitMiddleware(settings(given, limits)),
  tool_call_limit: (given) => lc.toolCallLimitMiddleware(settings(given, limits)),
  model_retry: (given) => lc.modelRetryMiddleware(retry(given)),
  tool_retry: (given) => lc.toolRetryMiddleware(retry(given)),
  tool_error: () => lc.toolErrorMiddleware({ onError: () => ANY }), // its words are each one's own
  model_fallback: ({ models }, { model }) => lc.modelFallbackMiddleware(...models.map(model)),
  todo_list: () => lc.todoListMiddleware(),
  summarization: ({ model: name, trigger, keep }, { model }) =>
    lc.summarizationMiddleware({ model: model(name), trigger: size(trigger), keep: size(keep) }),
  context_editing: ({ edits }) => lc.contextEditingMiddleware({ edits: edits.map(clearing) }),
  human_in_the_loop: ({ interrupt_on }) => lc.humanInTheLoopMiddleware({
    interruptOn: Object.fromEntries(Object.entries(interrupt_on).map(([name, given]) => [name, reviewed(given)])),
  }),
  llm_tool_selector: (given, { model }) => lc.llmToolSelectorMiddleware({
    model: model(given.model), ...settings(given, { max_tools: "maxTools", always_include: "alwaysInclude" }),
  }),
  llm_tool_emulator: (given, { model }) =>
    lc.toolEmulatorMiddleware({ model: model(given.model), ...settings(given, { tools: "tools" }) }),
  pii: (given) => lc.piiMiddleware(given.pii_type, settings(given, {
    strategy: "strategy", detector: "detector", apply_to_input: "applyToInput", apply_to_output: "applyToOutput",
    apply_to_tool_results: "applyToToolResults",
  })),
  probe,
};

function responseFormat({ strategy, schema, schemas, handle_errors, tool_message_content }) {
  if (strategy === "provider") return lc.providerStrategy(schema);
  return lc.toolStrategy(schemas ?? schema, settings({ handle_errors, tool_message_content },
    { handle_errors: "handleError", tool_message_content: "toolMessageContent" }));
}

function createAgent(scenario, log, model, checkpointer) {
  const { agent } = scenario;
  const fields = allFields(agent);
  const tools = Object.fromEntries(scenario.tools.map((one) => [one.name, outcomeTool(one, log)]));
  const part = { log, model, tools, fields, ...(Object.keys(fields).length > 0 && { stateSchema: stateSchema(fields) }) };
  return lc.createAgent({
    model: model(agent.model), systemPrompt: agent.system_prompt, tools: (agent.tools ?? []).map((name) => tools[name]),
    middleware: (agent.middleware ?? []).map((one) => {
      const [[name, given]] = Object.entries(typeof one === "string" ? { [one]: {} } : one);
      return builtIn[name](given, part);
    }),
    ...(agent.response_format && { responseFormat: responseFormat(agent.response_format) }),
    ...(agent.state && { stateSchema: stateSchema(agent.state) }), checkpointer,
  });
}

/* --- a step --------------------------------------------------------------------------------------------------- */

const renamed = (value, names) => {
  if (Array.isArray(value)) return value.map((one) => renamed(one, names));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) =>
    [names[key] ?? key, key === "args" ? one : renamed(one, names)]));
};
const toSnake = {
  actionRequests: "action_requests", reviewConfigs: "review_configs", actionName: "action_name",
  allowedDecisions: "allowed_decisions",
};

function stepInput(step, fields) {
  if (step.input) return { ...unsaid(fields), ...step.input, messages: step.input.messages.map(toLangChain) };
  return step.resume && new Command({ resume: renamed(step.resume, { edited_action: "editedAction" }) });
}

// Its nodes have their own names for interrupt_before and interrupt_after.
const nodes = (names) => names?.map((name) => name === "model" ? "model_request" : name);

function emptyLog(server) {
  return {
    entries: [], // {at} of a hook, {at, call} of a tool; round: how many models the agent had asked by then
    seen: [],
    round: () => server.requests.filter(({ model }) => !["sum", "pick", "emulate"].includes(model)).length,
    trace(at) { this.entries.push({ at, round: this.round() }); },
    tool(name, args) { this.entries.push({ at: `tool:${name}`, call: { name, args }, round: this.round() }); },
    see(found) { this.seen.push(found); },
  };
}

// Plays a scenario's steps one by one: play(step) says what LangChain did.
export function langchainPlayer(scenario, server) {
  const { agent: spec } = scenario;
  const fields = allFields(spec);
  const log = emptyLog(server);
  server.play(scenario.script);
  const models = {};
  const model = (name) => models[name] ??= new ChatOpenAI({
    model: name.replace("openai:", ""), apiKey: "none", configuration: { baseURL: server.url }, maxRetries: 0,
    useResponsesApi: false,
  });
  const checkpointer = new MemorySaver();
  const configurable = { thread_id: "thread" };
  const agent = createAgent(scenario, log, model, checkpointer);
  return async (step) => {
    Object.assign(log, { entries: [], seen: [] });
    server.requests = [];
    const did = { status: "success" };
    let output;
    try {
      output = await agent.invoke(stepInput(step, fields), {
        configurable, recursionLimit: spec.recursion_limit, signal: AbortSignal.timeout(STEP_MS),
        interruptBefore: nodes(spec.interrupt_before), interruptAfter: nodes(spec.interrupt_after),
      });
    } catch (error) {
      Object.assign(did, { status: "error", error: error.message, failure: error });
    }
    const { values, next } = await agent.graph.getState({ configurable });
    const interrupts = output?.__interrupt__ ?? [];
    if (did.status === "success" && next.length > 0) did.status = "interrupted";
    return {
      ...did, messages: (values.messages ?? []).map(fromLangChain), state: output ?? values,
      structured_response: plain(output?.structuredResponse),
      interrupts: interrupts.map(({ value }) => renamed(plain(value), toSnake)),
      requests: server.requests.map(fromRequest), entries: log.entries, seen: log.seen,
    };
  };
}
