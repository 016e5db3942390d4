// One scenario in the real LangChain JS: what it did, step by step. What of that the fleet must do, too, is expect.mjs's.
import { Command, MemorySaver, ReducedValue, StateSchema } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import * as lc from "langchain";
import { z } from "zod";
import { askedBy } from "./agents.mjs";
import { SubagentWatch } from "./deepagents.mjs";
import { fromLangChain, fromRequest, plain, toLangChain } from "./messages.mjs";
import { middlewareOf, responseFormat } from "./middleware.mjs";
import { outcomeTool, unsaid } from "./probe.mjs";

const STEP_MS = 20000;

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

// What its middleware is made with; shared: by all agents of the scenario.
function partOf(agent, shared) {
  const fields = allFields(agent);
  const schema = Object.keys(fields).length > 0 ? stateSchema(fields) : undefined;
  return { ...shared, fields, stateSchema: schema, within: (one) => partOf(one, shared) };
}

function createAgent(scenario, log, model, checkpointer) {
  const { agent } = scenario;
  const tools = Object.fromEntries(scenario.tools.map((one) => [one.name, outcomeTool(one, log)]));
  return lc.createAgent({
    model: model(agent.model), systemPrompt: agent.system_prompt, tools: (agent.tools ?? []).map((name) => tools[name]),
    middleware: middlewareOf(agent.middleware, partOf(agent, { log, model, tools })),
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

// deepagents JS wants to be told what a file is.
const typed = (files) =>
  Object.fromEntries(Object.entries(files).map(([path, file]) => [path, { ...file, mimeType: "text/plain" }]));

function stepInput(step, fields) {
  if (step.input) {
    const { messages, files, ...rest } = step.input;
    return { ...unsaid(fields), ...rest, ...(files && { files: typed(files) }), messages: messages.map(toLangChain) };
  }
  return step.resume && new Command({ resume: renamed(step.resume, { edited_action: "editedAction" }) });
}

// Its nodes have their own names for interrupt_before and interrupt_after.
const nodes = (names) => names?.map((name) => name === "model" ? "model_request" : name);

function emptyLog(server, agent) {
  const isOwn = ({ model }) => !["sum", "pick", "emulate"].includes(model) && !askedBy(agent, model);
  return {
    entries: [], // {at} of a hook, {at, call} of a tool; round: how many models the agent had asked by then
    seen: [],
    round: () => server.requests.filter(isOwn).length,
    trace(at) { this.entries.push({ at, round: this.round() }); },
    tool(name, args) { this.entries.push({ at: `tool:${name}`, call: { name, args }, round: this.round() }); },
    see(found) { this.seen.push(found); },
  };
}

// Plays a scenario's steps one by one: play(step) says what LangChain did.
export function langchainPlayer(scenario, server) {
  const { agent: spec } = scenario;
  const fields = allFields(spec);
  const log = emptyLog(server, spec);
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
    const watch = new SubagentWatch(spec);
    Object.assign(log, { entries: [], seen: [] });
    server.requests = [];
    const did = { status: "success" };
    let output;
    try {
      output = await agent.invoke(stepInput(step, fields), {
        configurable, callbacks: [watch], recursionLimit: spec.recursion_limit, signal: AbortSignal.timeout(STEP_MS),
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
      requests: server.requests.map(fromRequest), entries: log.entries, seen: log.seen, subagents: watch.ended,
    };
  };
}
