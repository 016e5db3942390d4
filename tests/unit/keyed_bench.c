#include "keyed_bench.h"

#include <check.h>
#include <string.h>

struct bench bench;

static struct arena *arena;
static struct rights_book *book;

void
keyed_allow(const char *text)
{
	const char *error;
	const struct allow_list *list =
	    allow_list_parse(arena, "allow.yaml", text, strlen(text), &error);
	struct rights_book *before = book;

	ck_assert_msg(list != NULL, "%s", error);
	book = rights_book_new(list, 7);
	bench_rights(&bench, book);
	rights_book_destroy(&before);
}

static void
take_keys(void)
{
	bench.keys[C] = KEY_C;
	bench.keys[C2] = KEY_ACME;
	bench.keys[L] = KEY_L;
	bench.keys[W] = KEY_W;
	bench.keys[W2] = KEY_W2;
	bench.keys[X] = KEY_OTHER;
}

void
keyed_setup(void)
{
	arena = arena_new();
	book = NULL;
	bench_start(&bench);
	take_keys();
	keyed_allow(ALL);
	bench_coordinator(&bench, C);
}

void
keyed_teardown(void)
{
	bench_end(&bench);
	rights_book_destroy(&book);
	arena_destroy(&arena);
}

void
keyed_restart(void)
{
	struct core_options options = core_defaults;

	bench_end(&bench);
	options.session = "ffffffffffffffffffffffffffffffff";
	options.name = "broker-2";
	bench_start_with(&bench, &options);
	take_keys();
	keyed_allow(ALL);
	bench_coordinator(&bench, C);
}

void
keyed_expect_denied(uint64_t peer, const char *words)
{
	const struct header *error = &bench_expect(&bench, peer, MSG_ERROR, NULL)->header;

	ck_assert_str_eq(wire_code_name((unsigned)error->code), "DENIED");
	ck_assert_msg(strstr(error->reason, words) != NULL, "%s", error->reason);
}
