// The middleware of a scenario as LangChain's: their settings have the same names, but for the case.
import * as lc from "langchain";
import { deepagentsSummarization, filesystem, patchToolCalls, subagent } from "./deepagents.mjs";
import { probe } from "./probe.mjs";

export const ANY = "<any>"; // as the content of a message: matches all of the fleet's

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
  probe, filesystem, subagent, patch_tool_calls: patchToolCalls, deepagents_summarization: deepagentsSummarization,
};

export function responseFormat({ strategy, schema, schemas, handle_errors, tool_message_content }) {
  if (strategy === "provider") return lc.providerStrategy(schema);
  return lc.toolStrategy(schemas ?? schema, settings({ handle_errors, tool_message_content },
    { handle_errors: "handleError", tool_message_content: "toolMessageContent" }));
}

// Of a list; part: what they are made with, model (name -> model), tools (name -> tool) and what probes need.
export function middlewareOf(list, part) {
  return (list ?? []).map((one) => {
    const [[name, given]] = Object.entries(typeof one === "string" ? { [one]: {} } : one);
    return builtIn[name](given, { ...part, middlewareOf, responseFormat });
  });
}
