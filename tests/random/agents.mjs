// The agents of a scenario: the one that runs, and those that `task` of its subagent middleware calls, complete.
export const GENERAL = "general-purpose";

const asks = (interrupt_on) => interrupt_on ? [{ human_in_the_loop: { interrupt_on } }] : [];

// An agent of a subagent's settings, with what it has by default.
function complete(settings, one, recursion_limit) {
  const { default_model, default_tools, default_middleware = [], default_interrupt_on } = settings;
  return {
    model: default_model, tools: default_tools, recursion_limit, ...one,
    middleware: [...default_middleware, ...(one.middleware ?? []), ...asks(default_interrupt_on)],
  };
}

export function subagentsOf({ middleware, recursion_limit }) {
  const settings = middleware.find((entry) => entry.subagent)?.subagent;
  if (settings === undefined) return [];
  const general = settings.general_purpose_agent ? [{ name: GENERAL }] : [];
  return [...general, ...settings.subagents].map((one) => complete(settings, one, recursion_limit));
}

export const agentsOf = (agent) => [agent, ...subagentsOf(agent)];

// Each has a model of its own, so that a request says whose it is.
export const askedBy = (agent, model) => subagentsOf(agent).find((one) => one.model === `openai:${model}`);
