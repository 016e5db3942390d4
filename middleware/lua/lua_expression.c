#include "lua_expression.h"

#include <lauxlib.h>
#include <string.h>

#include "lua_pool.h"
#include "lua_share.h"
#include "lua_values.h"
#include "lua_vm.h"

#define EXPRESSION_INSTRUCTIONS 100000u
#define EXPRESSION_MEMORY_BYTES ((size_t)4 << 20)

#define FUNCTION "expression"

struct question {
	const struct value *variables; /* NULL: it is only compiled */
	bool holds;
};

/* In one line with the text, whose lines keep their numbers; a comment in it ends with the line. */
static const char *
end_of(const char *text)
{
	return strstr(text, "--") != NULL ? "\n" : " ";
}

static const char *
in_brackets(struct arena *arena, const char *text)
{
	return arena_printf(
	    arena, "function " FUNCTION "() return (%s%s) end", text, end_of(text));
}

static const char *
bare(struct arena *arena, const char *text)
{
	return arena_printf(
	    arena, "function " FUNCTION "() return %s%send", text, end_of(text));
}

static int
returned(lua_State *L, int status, lua_KContext context)
{
	struct question *question = vm_data(L);

	(void)status;
	(void)context;
	question->holds = lua_toboolean(L, -1);
	return 0;
}

/* The globals are at 1: the expression sees the variables there. */
static int
ask(lua_State *L)
{
	const struct question *question = vm_data(L);
	size_t i;

	if (question->variables == NULL)
		return 0;
	for (i = 0; i < value_size(question->variables); i++) {
		values_push(L, question->variables->pairs[i].value);
		lua_setfield(L, 1, value_text(question->variables->pairs[i].key));
	}
	lua_getfield(L, 1, FUNCTION);
	lua_callk(L, 0, 1, 0, returned);
	return returned(L, LUA_OK, 0);
}

static int
run(struct arena *arena, const char *name, const char *code, struct question *question,
    const char **error_r)
{
	const struct lua_chunk chunk = { .code = code,
		.size = strlen(code),
		.name = name,
		.instructions = EXPRESSION_INSTRUCTIONS,
		.memory_bytes = EXPRESSION_MEMORY_BYTES };
	enum vm_status status;
	struct pooled *from;
	struct vm *vm = pool_take(&chunk, arena, &from, error_r);

	if (vm == NULL)
		return -1;
	status = vm_start(vm, arena, ask, question);
	if (status == VM_FAILED)
		*error_r = vm_fault(vm)->message;
	if (status == VM_WAITS)
		*error_r = arena_printf(arena, "%s: it waits", name);
	pool_give(from, &vm, status == VM_DONE);
	return status == VM_DONE ? 0 : -1;
}

/* What closes the brackets, or the function, to say more than one expression is none of the two. */
int
lua_expression_check(
    struct arena *arena, const char *name, const char *text, const char **error_r)
{
	struct question question = { 0 };

	if (run(arena, name, in_brackets(arena, text), &question, error_r) == -1)
		return -1;
	return run(arena, name, bare(arena, text), &question, error_r);
}

int
lua_expression_holds(struct arena *arena, const char *name, const char *text,
    const struct value *variables, const char **error_r)
{
	struct question question = { .variables = variables };

	if (share_wait() == -1) {
		*error_r = "cancelled";
		return -1;
	}
	if (run(arena, name, in_brackets(arena, text), &question, error_r) == -1)
		return -1;
	return question.holds ? 1 : 0;
}
