// The middleware of deepagents JS, and what its subagents did.
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import {
  createFilesystemMiddleware, createPatchToolCallsMiddleware, createSubAgentMiddleware, createSummarizationMiddleware, StateBackend,
} from "deepagents";
import { subagentsOf } from "./agents.mjs";
import { fromLangChain, plain } from "./messages.mjs";

export const filesystem = () => createFilesystemMiddleware();
export const patchToolCalls = () => createPatchToolCallsMiddleware();

const size = ([type, value]) => ({ type, value });
export const deepagentsSummarization = ({ model: name, trigger, keep }, { model }) => createSummarizationMiddleware({
  model: model(name), backend: (config) => new StateBackend(config), trigger: size(trigger), keep: size(keep),
});

const pick = (names, tools) => names?.map((name) => tools[name]);

// One of a subagent's settings. Its probes see the fields that it has itself.
function agentOf(one, part) {
  return {
    name: one.name, description: one.description, systemPrompt: one.system_prompt, model: one.model && part.model(one.model),
    tools: pick(one.tools, part.tools), middleware: part.middlewareOf(one.middleware, part.within(one)),
    responseFormat: one.response_format && part.responseFormat(one.response_format),
  };
}

export function subagent(given, part) {
  const defaults = given.default_middleware;
  return createSubAgentMiddleware({
    defaultModel: part.model(given.default_model), defaultTools: pick(given.default_tools, part.tools),
    defaultMiddleware: defaults ? part.middlewareOf(defaults, part) : null,
    generalPurposeAgent: given.general_purpose_agent, subagents: given.subagents.map((one) => agentOf(one, part)),
  });
}

// What the subagents of a step did, an entry for each time that one ran: as the player tells of the agent, as far as it is known.
export class SubagentWatch extends BaseCallbackHandler {
  name = "subagents";
  awaitHandlers = true;

  constructor(agent) {
    super();
    this.agents = new Map(subagentsOf(agent).map((one) => [one.name, one]));
    this.running = new Map();
    this.ended = [];
  }

  handleChainStart(_chain, _inputs, id, ...rest) {
    const name = rest.find((one) => this.agents.has(one));
    if (name !== undefined) this.running.set(id, this.agents.get(name));
  }

  #end(id, did) {
    const agent = this.running.get(id);
    if (this.running.delete(id)) this.ended.push({ agent, isSubagent: true, messages: [], requests: [], structured_response: null, ...did });
  }

  handleChainEnd(outputs, id) {
    this.#end(id, {
      status: outputs?.__interrupt__ ? "interrupted" : "success",
      messages: (outputs?.messages ?? []).map(fromLangChain), structured_response: plain(outputs?.structuredResponse),
    });
  }

  handleChainError(error, id) {
    this.#end(id, { status: "error", error: error.message, failure: error });
  }
}
