#include "sorts.h"

#include <string.h>

/* Takes as long as a fault does. */
#define LONG_TEXT                                                                        \
	"A story is told word by word, and whoever listens may be cut off at any of "    \
	"them, or hear the same one told by another teller from its beginning, but in "  \
	"the end he has heard all of it once."

/* Of each agent: who has written to the thread, in the order of it. */
#define SEEN "state: {seen: {type: array, reducer: append}}\n"

static const char agents_text[] =
    "name: clerk\n" SEEN "model: scripted:clerk\n"
    "tools: [note]\n"
    "middleware:\n"
    "  - model_retry: {max_retries: 3, initial_delay: 0.1}\n"
    "script:\n"
    "  clerk:\n"
    "    - delay_ms: 200\n"
    "      content: Two notes first.\n"
    "      tool_calls:\n"
    "        - {id: a, name: note, args: {name: alpha, ms: 300}}\n"
    "        - {id: b, name: note, args: {name: beta, ms: 100}}\n"
    "    - {http_error: 503, message: come back}\n"
    "    - delay_ms: 200\n"
    "      content: ''\n"
    "      tool_calls:\n"
    "        - {id: c, name: note, args: {name: gamma, ms: 200}}\n"
    "        - {id: d, name: note, args: {name: delta, ms: 50}}\n"
    "    - delay_ms: 200\n"
    "      content: All is noted.\n"
    "---\n"
    "name: payer\n" SEEN "model: scripted:payer\n"
    "tools: [note, pay, mail]\n"
    "script:\n"
    "  payer:\n"
    "    - delay_ms: 150\n"
    "      content: Pays.\n"
    "      tool_calls:\n"
    "        - {id: p, name: pay, args: {name: rent, ms: 300}}\n"
    "        - {id: n, name: note, args: {name: receipt, ms: 100}}\n"
    "        - {id: q, name: pay, args: {name: power, ms: 100}}\n"
    "        - {id: m, name: mail, args: {name: letter, ms: 100}}\n"
    "    - delay_ms: 150\n"
    "      content: All is paid.\n"
    "---\n"
    "name: asker\n" SEEN "model: scripted:asker\n"
    "tools: [transfer]\n"
    "script:\n"
    "  asker:\n"
    "    - delay_ms: 150\n"
    "      content: Transfers.\n"
    "      tool_calls: [{id: x, name: transfer, args: {name: sum, ms: 300}}]\n"
    "    - {delay_ms: 150, content: It is transferred.}\n"
    "---\n"
    "name: talker\n" SEEN "model: scripted:talker\n"
    "tools: [note]\n"
    "script:\n"
    "  talker:\n"
    "    - delay_ms: 250\n"
    "      content: The first of three turns begins with a note.\n"
    "      tool_calls: [{id: s, name: note, args: {name: one, ms: 100}}]\n"
    "    - {delay_ms: 250, content: The first turn ends here and now.}\n"
    "    - {delay_ms: 250, content: The second turn has nothing to note at all.}\n"
    "    - delay_ms: 250\n"
    "      content: The third turn begins with a note again.\n"
    "      tool_calls: [{id: u, name: note, args: {name: three, ms: 100}}]\n"
    "    - {delay_ms: 250, content: The third turn ends the talk.}\n"
    "---\n"
    "name: teller\n" SEEN "model: scripted:teller\n"
    "script:\n"
    "  teller:\n"
    "    - {delay_ms: 5000, content: '" LONG_TEXT "'}\n"
    "---\n"
    "name: boss\n" SEEN "model: scripted:boss\n"
    "middleware:\n"
    "  - filesystem: {system_prompt: ''}\n"
    "  - subagent:\n"
    "      general_purpose_agent: false\n"
    "      subagents:\n"
    "        - {name: aide, description: helps, model: 'scripted:aide', tools: [note, "
    "pay]}\n"
    "script:\n"
    "  boss:\n"
    "    - delay_ms: 100\n"
    "      content: Two tasks.\n"
    "      tool_calls:\n"
    "        - {id: t, name: task, args: {description: go, subagent_type: aide}}\n"
    "        - {id: w, name: task, args: {description: go, subagent_type: aide}}\n"
    "    - {delay_ms: 100, content: All tasks are done.}\n"
    "  aide:\n"
    "    - delay_ms: 150\n"
    "      content: Pays and notes.\n"
    "      tool_calls:\n"
    "        - {id: e, name: pay, args: {name: rent, ms: 200}}\n"
    "        - {id: f, name: note, args: {name: alpha, ms: 100}}\n"
    "    - {delay_ms: 150, content: noted aide}\n"
    "---\n"
    "name: chooser\n" SEEN "model: scripted:chooser\n"
    "tools: [pay]\n"
    "middleware:\n"
    "  - human_in_the_loop: {interrupt_on: {pay: true}}\n"
    "script:\n"
    "  chooser:\n"
    "    - delay_ms: 100\n"
    "      content: May it be paid?\n"
    "      tool_calls: [{id: h, name: pay, args: {name: choice, ms: 200}}]\n"
    "    - {delay_ms: 100, content: It was allowed.}\n"
    "---\n"
    "name: lodger\n" SEEN "model: scripted:lodger\n"
    "tools: [pay]\n"
    "script:\n"
    "  lodger:\n"
    "    - delay_ms: 100\n"
    "      content: Moves in.\n"
    "      tool_calls: [{id: l, name: pay, args: {name: stay, ms: 150}}]\n"
    "    - {delay_ms: 100, content: Moves out.}\n"
    "---\n"
    "name: caller\n" SEEN "model: distant:bench\n"
    "tools: [note]\n"
    "middleware:\n"
    "  - model_retry:\n"
    "      {max_retries: 1000, initial_delay: 0.2, max_delay: 1.0, on_failure: error,\n"
    "       retry_on: [Exception]}\n";

/* Those that fail. */
static const char failing_text[] =
    "name: mender\n" SEEN "model: scripted:mender\n"
    "tool_errors: raise\n"
    "tools: [note, pay, mail, stumble]\n"
    "script:\n"
    "  mender:\n"
    "    - delay_ms: 100\n"
    "      content: Mends.\n"
    "      tool_calls:\n"
    "        - {id: i, name: pay, args: {name: dues, ms: 250}}\n"
    "        - {id: o, name: note, args: {name: slip, ms: 50}}\n"
    "        - {id: v, name: mail, args: {name: card, ms: 700}}\n"
    "        - {id: z, name: stumble, args: {name: ground, ms: 200}}\n"
    "    - {delay_ms: 100, content: It is mended.}\n"
    "---\n"
    "name: foreman\n" SEEN "model: scripted:foreman\n"
    "tool_errors: raise\n"
    "tools: [note, transfer, stumble]\n"
    "middleware:\n"
    "  - subagent:\n"
    "      general_purpose_agent: false\n"
    "      subagents:\n"
    "        - {name: mate, description: helps, model: 'scripted:mate', tools: [note, "
    "pay]}\n"
    "script:\n"
    "  foreman:\n"
    "    - delay_ms: 100\n"
    "      content: Has it mended.\n"
    "      tool_calls:\n"
    "        - {id: i, name: task, args: {description: go, subagent_type: mate}}\n"
    "        - {id: o, name: note, args: {name: list, ms: 50}}\n"
    "        - {id: v, name: transfer, args: {name: fee, ms: 500}}\n"
    "        - {id: z, name: stumble, args: {name: floor, ms: 300}}\n"
    "    - {delay_ms: 100, content: All is mended.}\n"
    "  mate:\n"
    "    - delay_ms: 100\n"
    "      content: Works.\n"
    "      tool_calls:\n"
    "        - {id: g, name: pay, args: {name: wage, ms: 200}}\n"
    "        - {id: y, name: note, args: {name: sheet, ms: 100}}\n"
    "    - {delay_ms: 100, content: noted mate}\n";

/* Four answers, of two runs. */
static const char changed_text[] =
    "name: changer\n" SEEN "model: scripted:changer\n"
    "tools: [note]\n"
    "script:\n"
    "  changer:\n"
    "    - delay_ms: 300\n"
    "      content: Begins under %u\n"
    "      tool_calls: [{id: k, name: note, args: {name: change, ms: 300}}]\n"
    "    - {delay_ms: 300, content: Ends under %u}\n"
    "    - delay_ms: 300\n"
    "      content: Goes on under %u\n"
    "      tool_calls: [{id: j, name: note, args: {name: more, ms: 300}}]\n"
    "    - {delay_ms: 300, content: Ends at last under %u}\n";

static const char tool_text[] =
    "---\n"
    "name: %s\n"
    "description: notes a name, after a while\n"
    "parameters:\n"
    "  properties: {name: {type: string}, ms: {type: integer}}\n"
    "  required: [name, ms]\n"
    "%s"
    "input: none\n"
    "environment: [CHAOS_PARTY]\n"
    "command: [%s, %s, \"{name}\", \"{ms}\"%s]\n";

static const struct sort_turn clerk[] = { {
    .rounds = { { { "a", "note", "alpha" }, { "b", "note", "beta" } },
	{ { "c", "note", "gamma" }, { "d", "note", "delta" } } },
    .answer = "All is noted.",
} };
static const struct sort_turn payer[] = { {
    .rounds = { {
	{ "p", "pay", "rent" },
	{ "n", "note", "receipt" },
	{ "q", "pay", "power" },
	{ "m", "mail", "letter" },
    } },
    .answer = "All is paid.",
} };
static const struct sort_turn asker[] = { {
    .rounds = { { { "x", "transfer", "sum" } } },
    .answer = "It is transferred.",
} };
static const struct sort_turn talker[] = {
	{
	    .rounds = { { { "s", "note", "one" } } },
	    .answer = "The first turn ends here and now.",
	},
	{
	    .answer = "The second turn has nothing to note at all.",
	},
	{
	    .rounds = { { { "u", "note", "three" } } },
	    .answer = "The third turn ends the talk.",
	},
};
static const struct sort_turn teller[] = { { .answer = LONG_TEXT } };
/* Each task is a run of its own, with effects of its own. */
static const struct sort_turn boss[] = { {
    .rounds = { { { "t", SORT_TASK, "aide" }, { "w", SORT_TASK, "aide" } } },
    .answer = "All tasks are done.",
} };
/* What bench/model_server.c answers; a call is named by its round and its place there. */
static const struct sort_turn caller[] = {
	{
	    .rounds = { { { "call_0_0", "note", "distant" } } },
	    .answer = "All looked up: this is the final answer.",
	},
	{
	    .answer = "All looked up: this is the final answer.",
	},
};

static const struct sort_turn chooser[] = { {
    .rounds = { { { "h", "pay", "choice" } } },
    .answer = "It was allowed.",
} };
static const struct sort_turn changer[] = {
	{ .rounds = { { { "k", "note", "change" } } }, .answer = "Ends under " },
	{ .rounds = { { { "j", "note", "more" } } }, .answer = "Ends at last under " },
};
static const struct sort_turn mender[] = { {
    .rounds = { {
	{ "i", "pay", "dues" },
	{ "o", "note", "slip" },
	{ "v", "mail", "card" },
	{ "z", "stumble", "ground" },
    } },
    .answer = "It is mended.",
} };
static const struct sort_turn foreman[] = { {
    .rounds = { {
	{ "i", SORT_TASK, "mate" },
	{ "o", "note", "list" },
	{ "v", "transfer", "fee" },
	{ "z", "stumble", "floor" },
    } },
    .answer = "All is mended.",
} };
const char *const sort_task_effects[] = { "wage", "sheet", NULL };
static const struct sort_turn lodger[] = { {
    .rounds = { { { "l", "pay", "stay" } } },
    .answer = "Moves out.",
} };

const struct sort sorts[] = {
	{ "clerk", 100, 1, .turn = clerk },
	{ "teller", 80, 1, .stream = true, .turn = teller },
	{ "payer", 100, 1, .turn = payer },
	{ "asker", 100, 1, .turn = asker },
	{ "boss", 100, 1, .turn = boss },
	{ "talker", 130, 3, .stream = true, .turn = talker },
	{ "chooser", 90, 1, .asks = true, .turn = chooser },
	{ "changer", 60, 2, .changes = true, .turn = changer },
	{ "mender", 70, 1, .fails = true, .turn = mender },
	{ "foreman", 60, 1, .fails = true, .turn = foreman },
	{ "caller", 110, 2, .stream = true, .turn = caller },
	{ "lodger", 0, 1, .turn = lodger },
};
const size_t sort_count = sizeof sorts / sizeof *sorts;

const char *
sort_tools(struct arena *arena, const char *program, const char *log)
{
	static const char *const tools[][3] = {
		{ "note", "", "" },
		{ "pay", "idempotent: false\n", "" },
		{ "mail", "idempotent: false\nuncertain: repeat\n", "" },
		{ "transfer", "idempotent: false\nuncertain: interrupt\n", "" },
		{ "stumble", "", ", \"" SORT_STUMBLES "\"" },
	};
	const char *text = "";
	size_t i;

	for (i = 0; i < sizeof tools / sizeof *tools; i++)
		text = arena_printf(arena, "%s%s", text,
		    arena_printf(arena, tool_text, tools[i][0], tools[i][1], program, log,
			tools[i][2]));
	return text;
}

const char *
sort_agents(struct arena *arena)
{
	return arena_printf(arena, "%s---\n%s", agents_text, failing_text);
}

const char *
sort_changed(struct arena *arena, unsigned number)
{
	return arena_printf(arena, changed_text, number, number, number, number);
}

const struct sort *
sort_lodger(void)
{
	return &sorts[sort_count - 1];
}

const struct sort_call *
sort_find(const struct sort_turn *turn, const char *id)
{
	unsigned round, i;

	for (round = 0; round < SORT_ROUNDS_MAX; round++)
		for (i = 0; i < SORT_CALLS_MAX && turn->rounds[round][i].id != NULL; i++)
			if (strcmp(turn->rounds[round][i].id, id) == 0)
				return &turn->rounds[round][i];
	return NULL;
}
