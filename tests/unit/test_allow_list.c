/* Allow lists: what an entry says, and every mistake with its place. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "children.h"
#include "wire.h"

/* Interface under test */
#include "allow_list.h"

TCase *tcase_allow_list(void);

#define KEY_A "\"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\""
#define KEY_B "\"Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\""

static struct arena *arena;
static const char *error;

static void
setup(void)
{
	arena = arena_new();
	error = NULL;
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct allow_list *
parse(const char *text)
{
	return allow_list_parse(arena, "allow.yaml", text, strlen(text), &error);
}

static const struct allow_list *
parsed(const char *text)
{
	const struct allow_list *list = parse(text);

	ck_assert_msg(list != NULL, "%s", error);
	return list;
}

START_TEST(an_entry_says_all_there_is)
{
	const struct allow_list *list = parsed("keys:\n"
					       "- key: " KEY_A "\n"
					       "  name: tools-1\n"
					       "  roles: [worker, client]\n"
					       "  services: [\"tool:*\", tools]\n"
					       "  calls: [\"model:openai\"]\n"
					       "  tenant: acme\n"
					       "  sessions_max: 3\n");
	const struct allow_entry *entry = &list->entries[0];

	ck_assert_uint_eq(list->count, 1);
	ck_assert_str_eq(entry->key, "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7");
	ck_assert_str_eq(entry->name, "tools-1");
	ck_assert_uint_eq(entry->roles, 1u << ROLE_WORKER | 1u << ROLE_CLIENT);
	ck_assert(allow_matches(entry->services, "tool:search"));
	ck_assert(allow_matches(entry->services, "tools"));
	ck_assert(!allow_matches(entry->services, "model:openai"));
	ck_assert(allow_matches(entry->calls, "model:openai"));
	ck_assert(!allow_matches(entry->calls, "model:openai2"));
	ck_assert_str_eq(entry->tenant, "acme");
	ck_assert_uint_eq(entry->sessions_max, 3);
	ck_assert_uint_eq(entry->line, 2);
}
END_TEST

START_TEST(what_is_not_said_is_the_least_that_works)
{
	const struct allow_list *list =
	    parsed("keys:\n"
		   "- {key: " KEY_A ", name: w, roles: [worker], services: [tools]}\n"
		   "- {key: " KEY_B ", name: c, roles: [coordinator]}\n");

	ck_assert(allow_matches(list->entries[0].calls, "model:openai"));
	ck_assert(!allow_matches(list->entries[0].calls, "tool:search"));
	ck_assert_ptr_null(list->entries[0].tenant);
	ck_assert(allow_matches(list->entries[1].calls, "tool:search"));
	ck_assert(!allow_matches(list->entries[1].services, "tool:search"));
	ck_assert_uint_eq(list->entries[1].sessions_max, KEY_SESSIONS_MAX);
}
END_TEST

START_TEST(an_empty_list_lets_nobody_in)
{
	static const char *const texts[] = { "", "# none yet\n", "keys:\n",
		"keys: []\n" };

	ck_assert_uint_eq(parsed(texts[_i])->count, 0);
}
END_TEST

#define WORKER "- {key: " KEY_A ", name: w, roles: [worker], services: [tools]}\n"
static const struct {
	const char *text, *place, *words;
} mistakes[] = {
	{ "keys: {}\n", ":1:7:", "keys is a list" },
	{ "- x\n", ":1:1:", "one key, 'keys'" },
	{ "keys: []\nmore: 1\n", ":1:1:", "one key, 'keys'" },
	{ "keys:\n- x\n", ":2:3:", "an entry is a map" },
	{ "keys:\n- name: w\n  roles: [client]\n", ":2:3:", "'key' is missing" },
	{ "keys:\n- {key: " KEY_A ", roles: [client]}\n", ":2:3:", "'name' is missing" },
	{ "keys:\n- {key: " KEY_A ", name: w}\n", ":2:3:", "'roles' is missing" },
	{ "keys:\n- key: short\n  name: w\n  roles: [client]\n",
	    ":2:8:", "40 characters of Z85" },
	{ "keys:\n- key: \"\\\\q:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\"\n  name: w\n"
	  "  roles: [client]\n",
	    ":2:8:", "40 characters of Z85" },
	{ "keys:\n" WORKER "- {key: " KEY_A ", name: x, roles: [client]}\n",
	    ":3:9:", "already, as 'w'" },
	{ "keys:\n" WORKER "- {key: " KEY_B ", name: w, roles: [client]}\n",
	    ":3:59:", "two keys of the name 'w'" },
	{ "keys:\n- {key: " KEY_A ", name: \"a b\", roles: [client]}\n",
	    ":2:59:", "without spaces" },
	{ "keys:\n- {key: " KEY_A ", name: w, roles: worker}\n",
	    ":2:69:", "roles is a list" },
	{ "keys:\n- {key: " KEY_A ", name: w, roles: []}\n", ":2:69:", "at least one" },
	{ "keys:\n- {key: " KEY_A ", name: w, roles: [client, boss]}\n",
	    ":2:78:", "not boss" },
	{ "keys:\n- {key: " KEY_A ", name: w, roles: [worker]}\n",
	    ":2:3:", "names the services" },
	{ "keys:\n- {key: " KEY_A ", name: w, roles: [client], services: [tools]}\n",
	    ":2:89:", "only workers serve" },
	{ "keys:\n- {key: " KEY_A
	  ", name: w, roles: [worker], services: [\"tool:*x\"]}\n",
	    ":2:90:", "'*' at its end" },
	{ "keys:\n- {key: " KEY_A ", name: w, roles: [worker], services: [7]}\n",
	    ":2:90:", "a service is text" },
	{ "keys:\n- {key: " KEY_A ", name: w, roles: [client], tenant: \"a b\"}\n",
	    ":2:87:", "a tenant is" },
	{ "keys:\n- {key: " KEY_A ", name: w, roles: [client], sessions_max: 0}\n",
	    ":2:93:", "from 1 to" },
	{ "keys:\n- {key: " KEY_A ", name: w, roles: [client], tenent: a}\n",
	    ":2:79:", "did you mean 'tenant'" },
	{ "keys: []\n---\nkeys: []\n", ":1:1:", "one document" },
	{ "keys:\n- x\r- y\n", ":2:4:", "a carriage return stands alone" },
	{ "keys: [", ":2:1:", "closing bracket" },
};
#define MISTAKES (sizeof mistakes / sizeof mistakes[0])

START_TEST(every_mistake_has_its_place)
{
	ck_assert_ptr_null(parse(mistakes[_i].text));
	ck_assert_msg(strncmp(error, "allow.yaml:", 11) == 0, "%s", error);
	ck_assert_msg(strstr(error, mistakes[_i].place) == error + 10 &&
			  strstr(error, mistakes[_i].words) != NULL,
	    "%s %s: %s", mistakes[_i].place, mistakes[_i].words, error);
}
END_TEST

START_TEST(a_file_that_others_can_write_is_refused)
{
	char *folder = folder_new();
	const char *path = arena_printf(arena, "%s/allow.yaml", folder);
	FILE *out = fopen(path, "w");

	fputs("keys: []\n", out);
	fclose(out);
	chmod(path, 0644);
	ck_assert_ptr_nonnull(allow_list_load(arena, path, &error));
	chmod(path, 0664);
	ck_assert_ptr_null(allow_list_load(arena, path, &error));
	ck_assert_ptr_nonnull(strstr(error, "chmod go-w"));
	ck_assert_ptr_null(allow_list_load(arena, folder, &error));
	ck_assert_ptr_null(
	    allow_list_load(arena, arena_printf(arena, "%s/none", folder), &error));
	ck_assert_ptr_nonnull(strstr(error, "No such file"));
	folder_remove(&folder);
}
END_TEST

/* It is not waited for somebody who writes into it. */
START_TEST(a_pipe_is_no_list)
{
	char *folder = folder_new();
	const char *path = arena_printf(arena, "%s/allow.yaml", folder);

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_ptr_null(allow_list_load(arena, path, &error));
	ck_assert_ptr_nonnull(strstr(error, "is not a file"));
	folder_remove(&folder);
}
END_TEST

/* A disk that fails in the middle must not let in fewer than are named. */
START_TEST(what_cannot_be_read_is_no_empty_list)
{
	/* Opens as any file, and has nothing to be read where it begins. */
	ck_assert_ptr_null(allow_list_load(arena, "/proc/self/mem", &error));
	ck_assert_ptr_nonnull(strstr(error, "Input/output error"));
}
END_TEST

TCase *
tcase_allow_list(void)
{
	TCase *tcase = tcase_create("allow_list");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, an_entry_says_all_there_is);
	tcase_add_test(tcase, what_is_not_said_is_the_least_that_works);
	tcase_add_loop_test(tcase, an_empty_list_lets_nobody_in, 0, 4);
	tcase_add_loop_test(tcase, every_mistake_has_its_place, 0, MISTAKES);
	tcase_add_test(tcase, a_file_that_others_can_write_is_refused);
	tcase_add_test(tcase, a_pipe_is_no_list);
	tcase_add_test(tcase, what_cannot_be_read_is_no_empty_list);
	return tcase;
}
