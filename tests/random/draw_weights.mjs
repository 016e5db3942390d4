// How often each middleware is drawn.
const weights = {
  probe: 10, model_call_limit: 2, tool_call_limit: 4, model_retry: 3, tool_retry: 3, tool_error: 2, model_fallback: 3, todo_list: 2,
  summarization: 3, context_editing: 2, human_in_the_loop: 4, llm_tool_selector: 2, llm_tool_emulator: 2, pii: 4,
};
const ofDeepagents = { filesystem: 7, subagent: 16, patch_tool_calls: 5, deepagents_summarization: 3 };
const deepWeights = { ...weights, ...ofDeepagents };

// Of subagents, each of which has a model of its own: what asks one that others ask, too, has an order only where nothing runs
// beside it.
function weightsWithin({ serial, mayAsk }) {
  const { subagent, llm_tool_selector, summarization, deepagents_summarization, model_fallback, human_in_the_loop,
    llm_tool_emulator, ...rest } = deepWeights;
  return { ...rest, ...(serial && { summarization, llm_tool_emulator }), ...(mayAsk && { human_in_the_loop }) };
}

// deepagents JS would keep less of a round of several calls than Python's does (6.25).
export function weightsFor(part) {
  if (part.within) return weightsWithin(part);
  const { deepagents_summarization, ...rest } = part.isDeep ? ofDeepagents : part.deep ? deepWeights : weights;
  return { ...rest, ...(part.serial && deepagents_summarization && { deepagents_summarization }) };
}
