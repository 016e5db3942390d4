/* What a submission says of its run: read, or refused with one message that names the field. */
#include <check.h>
#include <string.h>

/* Interface under test */
#include "run_options.h"

TCase *tcase_run_options(void);

#define NOW INT64_C(1760000000000)

static struct arena *arena;

static void
open_arena(void)
{
	arena = arena_new();
}

static void
close_arena(void)
{
	arena_destroy(&arena);
}

static const char *
read_one(const char *name, const char *text, struct run_options *options)
{
	return run_options_read(
	    arena, value_map(arena, name, value_str(arena, text), NULL), NOW, options);
}

static struct run_options
read_good(const char *name, const char *text)
{
	struct run_options options;
	const char *error = read_one(name, text, &options);

	ck_assert_msg(error == NULL, "%s %s: %s", name, text, error);
	return options;
}

static const struct {
	const char *text;
	int64_t ms;
} times[] = {
	{ "0", 0 },
	{ "1767225600000", INT64_C(1767225600000) },
	{ "2026-01-01T00:00:00Z", INT64_C(1767225600000) },
	{ "2026-01-01t00:00:00z", INT64_C(1767225600000) },
	{ "2026-01-01 01:30:00+01:30", INT64_C(1767225600000) },
	{ "2025-12-31T14:00:00.250-10:00", INT64_C(1767225600250) },
	{ "2026-01-01T00:00:00.1239Z", INT64_C(1767225600123) },
	{ "2028-02-29T12:00:00Z", INT64_C(1835438400000) },
};

START_TEST(a_time_is_a_date_with_its_zone_or_milliseconds)
{
	ck_assert_int_eq(read_good("at", times[_i].text).at_ms, times[_i].ms);
}
END_TEST

START_TEST(after_counts_from_the_submission)
{
	ck_assert_int_eq(read_good("after_ms", "1500").at_ms, NOW + 1500);
	ck_assert_int_eq(read_good("after_ms", "0").at_ms, 0);
	ck_assert_int_eq(read_good("tenant", "acme").at_ms, 0);
}
END_TEST

static const char *const refused[][2] = {
	{ "at", "tomorrow" },
	{ "at", "2026-01-01" },
	{ "at", "2026-01-01T00:00:00" },
	{ "at", "2026-02-30T00:00:00Z" },
	{ "at", "2026-13-01T00:00:00Z" },
	{ "at", "2026-01-01T25:00:00Z" },
	{ "at", "2026-01-01T00:00:00+1:00" },
	{ "at", "2026-01-01T00:00:00+25:00" },
	{ "at", "-5" },
	{ "at", "99999999999999" },
	{ "at", "1e12" },
	{ "after_ms", "soon" },
	{ "after_ms", "-1" },
	{ "after_ms", "5s" },
	{ "after_ms", "31536000001" },
	{ "after_ms", "99999999999999999999" },
	{ "deadline_ms", "0" },
	{ "deadline_ms", "1.5" },
	{ "deadline_ms", " 7" },
	{ "priority", "5" },
	{ "priority", "high" },
	{ "tenant", "a b" },
	{ "webhook", "hooks.example.com/x" },
	{ "webhook", "ftp://example.com/x" },
	{ "webhook", "http://" },
	{ "webhook", "http://exa mple.com" },
	{ "webhook", "http://example.com/\x01" },
	{ "webhook", "https://user:secret@example.com/" },
	{ "metadata", "{" },
	{ "metadata", "[1]" },
	{ "metadata", "{\"a\": {\"b\": 1}}" },
	{ "metadata", "{\"a\": null}" },
	{ "traceparent", "none" },
	{ "traceparent", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01" },
	{ "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 " },
	{ "fingerprint", "of something" },
	{ "assistant", "of mine" },
};

START_TEST(what_is_wrong_is_named)
{
	struct run_options options;
	const char *error = read_one(refused[_i][0], refused[_i][1], &options);

	ck_assert_msg(error != NULL, "%s %s", refused[_i][0], refused[_i][1]);
	ck_assert_msg(
	    strncmp(error, refused[_i][0], strlen(refused[_i][0])) == 0, "%s", error);
	ck_assert_ptr_null(strchr(error, '\n'));
}
END_TEST

START_TEST(a_delay_and_a_time_exclude_each_other)
{
	struct run_options options;
	const char *error = run_options_read(arena,
	    value_map(arena, "at", value_str(arena, "5"), "after_ms",
		value_str(arena, "5"), NULL),
	    NOW, &options);

	ck_assert_ptr_nonnull(error);
	ck_assert_ptr_nonnull(strstr(error, "exclude"));
}
END_TEST

START_TEST(what_was_read_is_what_the_record_keeps)
{
	struct run_options options;
	const struct value *record;

	ck_assert_ptr_null(run_options_read(arena,
	    value_map(arena, "at", value_str(arena, "7"), "deadline_ms",
		value_str(arena, "9"), "webhook",
		value_str(arena, "https://example.com:8443/x?y=z"), "priority",
		value_str(arena, "0"), "tenant", value_str(arena, "acme"), "metadata",
		value_str(arena, "{\"a\": \"b\", \"n\": 1, \"yes\": true}"), NULL),
	    NOW, &options));
	record = run_options_record(arena, &options);
	ck_assert_str_eq(value_get_text(record, "at"), "7");
	ck_assert_str_eq(value_get_text(record, "deadline_ms"), "9");
	ck_assert_str_eq(value_get_text(record, "priority"), "0");
	ck_assert_str_eq(value_get_text(record, "tenant"), "acme");
	ck_assert_str_eq(
	    value_get_text(record, "webhook"), "https://example.com:8443/x?y=z");
	ck_assert_ptr_nonnull(value_get(record, "metadata")->packed);
	ck_assert_str_eq(value_get_text(value_get(record, "metadata"), "a"), "b");
}
END_TEST

START_TEST(metadata_are_bounded)
{
	struct run_options options;
	char text[20000];
	const char *error;

	memset(text, ' ', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	error = read_one("metadata", text, &options);
	ck_assert_ptr_nonnull(error);
	ck_assert_ptr_nonnull(strstr(error, "limit"));
}
END_TEST

TCase *
tcase_run_options(void)
{
	TCase *tcase = tcase_create("run_options");

	tcase_add_checked_fixture(tcase, open_arena, close_arena);
	tcase_add_loop_test(tcase, a_time_is_a_date_with_its_zone_or_milliseconds, 0,
	    (int)(sizeof times / sizeof *times));
	tcase_add_test(tcase, after_counts_from_the_submission);
	tcase_add_loop_test(
	    tcase, what_is_wrong_is_named, 0, (int)(sizeof refused / sizeof *refused));
	tcase_add_test(tcase, a_delay_and_a_time_exclude_each_other);
	tcase_add_test(tcase, what_was_read_is_what_the_record_keeps);
	tcase_add_test(tcase, metadata_are_bounded);
	return tcase;
}
