// The probe of the scenario format, as LangChain middleware, and the tools with scripted outcomes. `log` is told what ran.
import { AIMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, isCommand, isGraphInterrupt } from "@langchain/langgraph";
import { createMiddleware } from "langchain";
import { plain, toLangChain, toUpdate } from "./messages.mjs";

export class Fault extends Error {
  constructor(message, type = "Exception") {
    super(message);
    this.name = type;
  }
}

export function outcomeTool({ name, description, parameters, return_direct, outcomes }, log) {
  let played = 0;
  return tool(async (args, config) => {
    log.tool(name, plain(args));
    const outcome = outcomes[Math.min(played++, outcomes.length - 1)];
    if (outcome.error !== undefined) throw new Fault(outcome.error, outcome.error_type);
    if (outcome.command) return new Command({ update: toUpdate(outcome.command.update, { id: config.toolCallId, name }) });
    return outcome.echo ? JSON.stringify(args) : outcome.return;
  }, { name, description, schema: parameters, returnDirect: return_direct === true });
}

// What a hook does this time: the first action for this call of it.
function chooser(actions) {
  const list = [actions].flat();
  let calls = 0;
  return () => {
    calls++;
    return list.find(({ on_call }) => on_call === undefined || on_call === calls) ?? {};
  };
}

// With an update LangChain writes back all that the hook saw, and with an input all that the thread has: a field with a reducer
// would be folded with itself, if this did not stand in its place.
export const unsaid = (fields) =>
  Object.fromEntries(Object.keys(fields).filter((name) => fields[name].reducer).map((name) => [name, undefined]));

function nodeHook(at, actions, { log, fields }) {
  const choose = chooser(actions);
  return {
    canJumpTo: [...new Set([actions].flat().flatMap((action) => action.can_jump_to ?? []))],
    hook: (state) => {
      const action = choose();
      log.trace(at);
      if (action.see) {
        const found = { ...state, message_count: state.messages.length };
        log.see({ at, ...Object.fromEntries(action.see.map((name) => [name, found[name]])) });
      }
      if (action.raise) throw new Fault(action.raise, action.error_type);
      if (!action.update && !action.jump_to) return undefined;
      return { ...unsaid(fields), ...toUpdate(action.update ?? {}), ...(action.jump_to && { jumpTo: action.jump_to }) };
    },
  };
}

function overridden(request, change, { model, tools }) {
  const changed = { ...request };
  if (change.system_prompt !== undefined) changed.systemMessage = new SystemMessage(change.system_prompt);
  if (change.append_system !== undefined) {
    changed.systemMessage = new SystemMessage((request.systemMessage?.text ?? "") + change.append_system);
  }
  if (change.tools) changed.tools = change.tools.map((name) => tools[name]);
  if (change.tool_choice !== undefined) changed.toolChoice = change.tool_choice;
  if (change.model) changed.model = model(change.model);
  if (change.model_settings) changed.modelSettings = change.model_settings;
  if (change.messages_keep_last !== undefined) changed.messages = changed.messages.slice(-change.messages_keep_last);
  if (change.messages_append) changed.messages = [...changed.messages, ...change.messages_append.map(toLangChain)];
  return changed;
}

// The handler's last result, or what stands for it.
async function handled(action, handle, made) {
  const { calls = 1, response = {}, catch: caught } = action;
  if (calls === 0) return made(response);
  let result;
  try {
    for (let i = 0; i < calls; i++) result = await handle();
  } catch (error) {
    if (!caught || isGraphInterrupt(error)) throw error;
    return made(caught);
  }
  return result;
}

// A wrap hook's frame: the trace on the way in and out, its failure, its handler.
async function wrapped(at, action, log, handle, made) {
  log.trace(`${at}>`);
  if (action.raise) throw new Fault(action.raise, action.error_type);
  try {
    return await handled(action, handle, made);
  } finally {
    log.trace(`${at}<`);
  }
}

function modelWrap(at, actions, part) {
  const choose = chooser(actions);
  const suffixed = (message, suffix) =>
    new AIMessage({ ...message, content: message.text + suffix, tool_calls: message.tool_calls });
  return async (request, handler) => {
    const action = choose();
    const asked = action.request ? overridden(request, action.request, part) : request;
    let result = await wrapped(at, action, part.log, () => handler(asked), (message) => toLangChain({ type: "ai", ...message }));
    if (action.content_suffix && AIMessage.isInstance(result)) result = suffixed(result, action.content_suffix);
    else if (action.content_suffix && result.messages) { // a structured answer
      result = { ...result, messages: [suffixed(result.messages[0], action.content_suffix), ...result.messages.slice(1)] };
    }
    return action.update ? new Command({ update: toUpdate(action.update) }) : result;
  };
}

function toolWrap(at, actions, log) {
  const choose = chooser(actions);
  return async (request, handler) => {
    const { toolCall: call } = request;
    const chosen = choose();
    const action = chosen.tool === undefined || chosen.tool === call.name ? chosen : {};
    const asked = action.args ? { ...request, toolCall: { ...call, args: { ...call.args, ...action.args } } } : request;
    let result = await wrapped(at, action, log, () => handler(asked),
      (message) => toLangChain({ type: "tool", tool_call_id: call.id, name: call.name, status: "success", ...message }));
    const answers = (message) => ToolMessage.isInstance(message) && message.tool_call_id === call.id;
    if (action.content_suffix) {
      const suffixed = (message) => !answers(message) ? message
        : new ToolMessage({ ...message, content: message.text + action.content_suffix });
      result = isCommand(result)
        ? new Command({ update: { ...result.update, messages: result.update.messages.map(suffixed) } }) : suffixed(result);
    }
    if (!action.command) return result;
    const messages = isCommand(result) ? result.update.messages.filter(answers) : [result];
    return new Command({ update: { messages, ...toUpdate(action.command, call) } });
  };
}

const nodeHooks = {
  before_agent: "beforeAgent", before_model: "beforeModel", after_model: "afterModel", after_agent: "afterAgent",
};

// stateSchema: of fields, the agent's whole state, of which LangChain shows a hook only what its middleware declares.
export function probe(settings, part) {
  const { id, wrap_model_call, wrap_tool_call } = settings;
  const { log, stateSchema } = part;
  const hooks = {};
  for (const [name, theirs] of Object.entries(nodeHooks)) {
    if (settings[name]) hooks[theirs] = nodeHook(`${id}.${name}`, settings[name], part);
  }
  if (wrap_model_call) hooks.wrapModelCall = modelWrap(`${id}.wrap_model_call`, wrap_model_call, part);
  if (wrap_tool_call) hooks.wrapToolCall = toolWrap(`${id}.wrap_tool_call`, wrap_tool_call, log);
  return createMiddleware({ name: id, stateSchema, ...hooks });
}
