// Messages and updates of the scenario format (tests/conformance), as LangChain's and back.
import { AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";

const ofType = { human: HumanMessage, system: SystemMessage };

export function toLangChain(message) {
  const { type, tool_calls: calls = [], tool_call_id, name, status, id, content = "" } = message;
  if (message.remove) return new RemoveMessage({ id: message.remove === "all" ? "__remove_all__" : message.remove });
  if (type === "tool") return new ToolMessage({ content, id, name, tool_call_id, status });
  if (type === "ai") return new AIMessage({ content, id, tool_calls: calls.map((call) => ({ ...call, type: "tool_call" })) });
  return new ofType[type]({ content, id });
}

// A tool message of an update that names no call answers the one that ran.
export function toUpdate(update, call) {
  if (update.messages === undefined) return { ...update };
  const messages = update.messages.map((message) => toLangChain(message.type === "tool"
    ? { tool_call_id: call?.id, name: call?.name, status: "success", ...message } : message));
  return { ...update, messages };
}

export const plain = (value) => JSON.parse(JSON.stringify(value ?? null));

export function fromLangChain(message) {
  const type = message.getType();
  const plainMessage = { type, content: message.text, id: message.id };
  if (message.tool_calls?.length > 0) {
    plainMessage.tool_calls = message.tool_calls.map(({ name, args, id }) => ({ name, args: plain(args), id }));
  }
  if (type === "tool") {
    Object.assign(plainMessage, { tool_call_id: message.tool_call_id, name: message.name, status: message.status ?? "success" });
  }
  return plainMessage;
}

export function hasOpenCall(messages) {
  const answered = new Set(messages.map(({ tool_call_id: id }) => id));
  return messages.some(({ tool_calls: calls = [] }) => calls.some(({ id }) => !answered.has(id)));
}

// A tool's message whose call is in none in front of it.
export function hasLoneResult(messages) {
  const called = new Set();
  return messages.some(({ tool_calls: calls = [], tool_call_id: answers }) => {
    for (const { id } of calls) called.add(id);
    return answers !== undefined && !called.has(answers);
  });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function fromRequestMessage({ role, content, tool_calls: calls, tool_call_id }) {
  const text = Array.isArray(content) ? content.map((block) => block.text ?? "").join("") : content;
  return {
    role: role === "developer" ? "system" : role, content: text ?? "", tool_call_id,
    tool_calls: calls?.map(({ id, function: { name, arguments: args } }) => ({ id, name, args: parsed(args) })),
  };
}

// A request's body as `requests` of an expectation has it.
export function fromRequest(body) {
  const { model, tool_choice, temperature, top_p, response_format } = body;
  return plain({
    model, messages: body.messages.map(fromRequestMessage), tools: (body.tools ?? []).map((tool) => tool.function.name),
    tool_choice, temperature, top_p, response_format,
  });
}
