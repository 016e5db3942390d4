/* Which trace, beneath which span: what comes from outside is read strictly, ids are the same everywhere. */
#include <check.h>
#include <stdio.h>
#include <string.h>

/* Interface under test */
#include "trace_context.h"

TCase *tcase_trace_context(void);

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"

static const struct {
	const char *text, *written;
	bool is_sampled;
} good[] = {
	{ "00-" TRACE "-" SPAN "-01", "00-" TRACE "-" SPAN "-01", true },
	{ "00-" TRACE "-" SPAN "-00", "00-" TRACE "-" SPAN "-00", false },
	{ "00-" TRACE "-" SPAN "-ff", "00-" TRACE "-" SPAN "-01", true },
	{ "00-" TRACE "-" SPAN "-02", "00-" TRACE "-" SPAN "-00", false },
	/* of a version that nobody has yet */
	{ "cc-" TRACE "-" SPAN "-01", "00-" TRACE "-" SPAN "-01", true },
	{ "cc-" TRACE "-" SPAN "-01-more", "00-" TRACE "-" SPAN "-01", true },
};

START_TEST(reads_and_writes)
{
	char text[TRACEPARENT_BYTES + 1];
	struct trace_context context;

	ck_assert_int_eq(trace_context_read(good[_i].text, &context), 0);
	ck_assert_int_eq(context.is_sampled, good[_i].is_sampled);
	ck_assert_uint_eq(context.trace[0], 0x0a);
	ck_assert_uint_eq(context.trace[TRACE_ID_BYTES - 1], 0x9c);
	ck_assert_uint_eq(context.span[0], 0xb7);
	trace_context_write(&context, text);
	ck_assert_str_eq(text, good[_i].written);
}
END_TEST

static const char *const bad[] = {
	NULL,
	"",
	"00",
	"00-" TRACE "-" SPAN "-0",
	"00-" TRACE "-" SPAN "-011",
	"00-" TRACE "-" SPAN "-01-more",
	"cc-" TRACE "-" SPAN "-01more",
	"cc-" TRACE "-" SPAN "-01-more and more",
	"ff-" TRACE "-" SPAN "-01",
	"0-0" TRACE "-" SPAN "-01",
	"00 " TRACE "-" SPAN "-01",
	"00-" TRACE " " SPAN "-01",
	"00-" TRACE "-" SPAN " 01",
	"00-0AF7651916cd43dd8448eb211c80319c-" SPAN "-01",
	"00-0xf7651916cd43dd8448eb211c80319c-" SPAN "-01",
	"00-" TRACE "-b7ad6b716920333g-01",
	"00-00000000000000000000000000000000-" SPAN "-01",
	"00-" TRACE "-0000000000000000-01",
};

START_TEST(refuses)
{
	struct trace_context context = { .is_sampled = true };

	ck_assert_int_eq(trace_context_read(bad[_i], &context), -1);
	ck_assert(context.is_sampled); /* not touched */
}
END_TEST

static void
check_id(const uint8_t *id, size_t size, const char *digits)
{
	size_t i;

	for (i = 0; i < size; i++) {
		static const char hex[] = "0123456789abcdef";

		ck_assert_int_eq(hex[id[i] >> 4], digits[2 * i]);
		ck_assert_int_eq(hex[id[i] & 15], digits[2 * i + 1]);
	}
}

/* As `printf 'trace run-7' | sha256sum` says it: other programs may make them, too. */
START_TEST(ids_are_made_of_names)
{
	uint8_t trace[TRACE_ID_BYTES], span[SPAN_ID_BYTES];

	trace_id_make("run-7", trace);
	check_id(trace, sizeof trace, "d44a7f05d8e0106ad7f7ccab15ddb239");
	trace_span_id_make(span, "call %s", "run-7.3.0");
	check_id(span, sizeof span, "246518fe64540c02");
}
END_TEST

START_TEST(a_share_is_a_number_from_0_to_1)
{
	static const char *const wrong[] = { "", "1.1", "-0.5", "0.5x", "nan", "0x1",
		" 1", "1e9", "half", ".", "1.2.3" };
	double ratio = -1;
	size_t i;

	for (i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(trace_ratio_read(wrong[i], &ratio) == -1, "%s", wrong[i]);
	ck_assert_int_eq(trace_ratio_read("0.25", &ratio), 0);
	ck_assert(ratio == 0.25);
	ck_assert_int_eq(trace_ratio_read("0", &ratio), 0);
	ck_assert_int_eq(trace_ratio_read("1", &ratio), 0);
	ck_assert(ratio == 1);
}
END_TEST

/* Who takes part in a trace by a smaller share does by a larger one, too. */
START_TEST(the_share_is_decided_by_the_id)
{
	uint8_t trace[TRACE_ID_BYTES], last[TRACE_ID_BYTES];
	unsigned i, quarter = 0, half = 0;
	char run[32];

	memset(last, 0xff, sizeof last);
	for (i = 0; i < 4000; i++) {
		snprintf(run, sizeof run, "run-%u", i);
		trace_id_make(run, trace);
		ck_assert(trace_is_sampled(trace, 1));
		ck_assert(!trace_is_sampled(trace, 0));
		quarter += trace_is_sampled(trace, 0.25);
		half += trace_is_sampled(trace, 0.5);
		ck_assert(!trace_is_sampled(trace, 0.25) || trace_is_sampled(trace, 0.5));
	}
	ck_assert_uint_gt(quarter, 850);
	ck_assert_uint_lt(quarter, 1150);
	ck_assert_uint_gt(half, 1850);
	ck_assert_uint_lt(half, 2150);
	ck_assert(!trace_is_sampled(last, 0));
}
END_TEST

TCase *
tcase_trace_context(void)
{
	TCase *tc = tcase_create("trace_context");

	tcase_add_loop_test(tc, reads_and_writes, 0, sizeof good / sizeof *good);
	tcase_add_loop_test(tc, refuses, 0, sizeof bad / sizeof *bad);
	tcase_add_test(tc, ids_are_made_of_names);
	tcase_add_test(tc, a_share_is_a_number_from_0_to_1);
	tcase_add_test(tc, the_share_is_decided_by_the_id);
	return tc;
}
