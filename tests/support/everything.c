#include "everything.h"

static const char text[] =
    "middleware:\n"
    "  - human_in_the_loop:\n"
    "      interrupt_on:\n"
    "        calculate: {allowed_decisions: [approve], when: args.expression == '6 * "
    "7'}\n"
    "  - model_call_limit: {run_limit: 100, thread_limit: 1000}\n"
    "  - token_budget: {run_limit: {total_tokens: 1000000}, thread_limit: 9000000}\n"
    "  - tool_call_limit: {run_limit: 100}\n"
    "  - tool_call_limit: {tool_name: calculate, run_limit: 50, exit_behavior: end}\n"
    "  - subagent:\n"
    "      subagents: [{name: aide, description: Helps., model: scripted:aide, tools: "
    "[]}]\n"
    "  - async_subagent:\n"
    "      async_subagents: [{name: far, description: Works., graph_id: nobody}]\n"
    "  - summarization: {model: scripted:helper, trigger: [messages, 500]}\n"
    "  - deepagents_summarization: {model: scripted:helper, trigger: [messages, 500]}\n"
    "  - context_editing\n"
    "  - dynamic_prompt: {template: 'You work. Rounds so far: {state.rounds}.'}\n"
    "  - model_fallback: {models: [scripted:spare]}\n"
    "  - model_retry: {initial_delay: 0.01, on_failure: error}\n"
    "  - llm_tool_selector: {model: scripted:picker, on_parsing_failure: all}\n"
    "  - memory: {sources: [/AGENTS.md, /notes/own.md]}\n"
    "  - patch_tool_calls\n"
    "  - pii: {pii_type: email, apply_to_output: true, apply_to_tool_results: true}\n"
    "  - pii: {pii_type: url, strategy: hash, apply_to_output: true}\n"
    "  - openai_moderation: {check_input: false, check_output: false}\n"
    "  - todo_list\n"
    "  - provider_tool_search: {searchable_tools: []}\n"
    "  - anthropic_prompt_caching: {min_messages_to_cache: 2}\n"
    "  - rubric: {model: scripted:judge, max_iterations: 2}\n"
    "  - skills: {sources: [/skills, [/own/skills, Own]]}\n"
    "  - shell_tool: {startup_commands: ['BEGUN=yes'], command_timeout: 20}\n"
    "  - filesystem_file_search: {root_path: %s}\n"
    "  - filesystem: {backend: {composite: {default: state, routes: {/memories/: "
    "store}}}}\n"
    "  - tool_error: {catch: [OSError]}\n"
    "  - tool_retry: {initial_delay: 0.01}\n"
    "  - llm_tool_emulator: {model: scripted:player, tools: [weather]}\n"
    "  - lua:\n"
    "      name: own\n"
    "      state: {rounds: {type: integer, default: 0, reducer: add}}\n"
    "      code: |\n"
    "        function after_model(state) return {rounds = 1} end\n";

const char everything_script[] =
    "  picker:\n"
    "    - content: I cannot choose.\n"
    "  aide:\n"
    "    - content: Done.\n"
    "  helper:\n"
    "    - content: A summary.\n"
    "  judge:\n"
    "    - structured: {result: satisfied, explanation: Good.}\n"
    "  player:\n"
    "    - content: Snow.\n";

const char *
everything_middleware(struct arena *arena, const char *folder)
{
	return arena_printf(arena, text, folder);
}
