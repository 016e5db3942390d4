#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Interface under test */
#include "pii_stream.h"

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static struct pii_rule *
rule_of(const char *type, enum pii_strategy strategy, const char *detector)
{
	const char *error = NULL;
	struct pii_rule *rule = pii_rule_new(arena, type, strategy, detector, &error);

	ck_assert_msg(rule != NULL, "%s", error);
	return rule;
}

static const struct {
	const char *type, *detector, *text;
} texts[] = {
	{ "email", NULL, "mail ann.lee@mail.example.org, bob@site.io. a@b a@b.c d.e" },
	{ "email", NULL, "x@y.de-a@b.co..a@b.co@c.de ü@ü.de" },
	{ "credit_card", NULL, "1111 4532 0151 1283 0366 45320151128303661" },
	{ "credit_card", NULL, "4532015112830366" },
	{ "ip", NULL, "1.2.3.4.5.6.7.8 999.1.1.1.1 1.1.1.1" },
	{ "mac_address", NULL, "00:1A:2B:3C:4D:5E:6F 00-1a-2b-3c-4d-5f" },
	{ "url", NULL, "foo.http://a.b/c?d www.http://x a.b/c \"d\" hhttps://" },
	{ "url", NULL, "www.x.y http http: http:/ https://?" },
	{ "key", "sk-[a-z]{4,8}", "sk-abcdefghij sk-abc sk-sk-abcd" },
	{ "key", "(?<=id )[0-9]+(?! kg)", "id 12 kg id 7 id 12345" },
	{ "key", "^a|b$|\\bc\\b", "a a b c cc\nb" },
	{ "key", "(?s)BEGIN.*?END|B", "B BEGIN x END BEGIN y" },
	{ "key", "ä+|(.)\\1", "ääxäx xxyy" },
};

static const char *
whole(const struct pii_rule *rule, const char *text, struct pii_findings *findings)
{
	struct packet out = { 0 };
	const char *result;

	pii_redact(rule, text, strlen(text), &out, findings);
	result = arena_copy(arena, out.data, out.size);
	packet_release(&out);
	return result;
}

static bool
is_border(const char *text, size_t place)
{
	return ((unsigned char)text[place] & 0xc0) != 0x80;
}

/* Cut where a bit of cuts is set, over and over. */
static const char *
in_pieces(const struct pii_rule *rule, const char *text, unsigned cuts, size_t lookback,
    struct pii_findings *findings)
{
	struct pii_stream *stream = pii_stream_new(rule, lookback);
	size_t size = strlen(text), from = 0, to;
	struct packet out = { 0 };
	const char *result;

	for (to = 1; to <= size; to++)
		if (to == size || ((cuts >> to % 31 & 1) && is_border(text, to))) {
			pii_stream_feed(stream, text + from, to - from, &out);
			from = to;
		}
	*findings = pii_stream_end(stream, &out);
	result = arena_copy(arena, out.size > 0 ? out.data : "", out.size);
	packet_release(&out);
	pii_stream_destroy(&stream);
	return result;
}

START_TEST(however_a_text_is_cut_what_comes_out_is_the_same)
{
	static const size_t lookbacks[] = { 0, 1, 7, 128 };
	struct pii_rule *rule = rule_of(texts[_i].type, PII_HASH, texts[_i].detector);
	struct pii_findings findings = { 0 }, pieces;
	const char *all = whole(rule, texts[_i].text, &findings), *cut;
	unsigned seed = 7, round;

	ck_assert_uint_gt(findings.count, 0);
	for (round = 0; round < 500; round++) {
		unsigned cuts = round == 0 ? ~0u : (unsigned)rand_r(&seed);

		if (round % 3 == 1)
			cuts &= (unsigned)rand_r(&seed);
		cut =
		    in_pieces(rule, texts[_i].text, cuts, lookbacks[round % 4], &pieces);
		ck_assert_msg(strcmp(cut, all) == 0, "%s\n%s\n%s (%x)", texts[_i].text,
		    all, cut, cuts);
		ck_assert_uint_eq(pieces.count, findings.count);
	}
	pii_rule_destroy(&rule);
}
END_TEST

/* What the stream has let go before each character. */
START_TEST(nothing_of_a_value_goes_on_before_it_is_whole)
{
	static const char text[] = "hello ann.lee@example.org bye";
	struct pii_rule *rule = rule_of("email", PII_REDACT, NULL);
	struct pii_stream *stream = pii_stream_new(rule, 0);
	struct packet out = { 0 };
	size_t i;

	for (i = 0; i < sizeof text - 1; i++) {
		pii_stream_feed(stream, text + i, 1, &out);
		if (i < 25)
			ck_assert_uint_le(out.size, strlen("hello "));
	}
	ck_assert_uint_ge(out.size, strlen("hello [REDACTED_EMAIL] "));
	pii_stream_end(stream, &out);
	ck_assert_int_eq(memcmp(out.data, "hello [REDACTED_EMAIL] bye", out.size), 0);
	packet_release(&out);
	pii_stream_destroy(&stream);
	pii_rule_destroy(&rule);
}
END_TEST

START_TEST(the_lookback_is_held_back_and_comes_in_the_end)
{
	struct pii_rule *rule = rule_of("email", PII_REDACT, NULL);
	struct pii_stream *stream = pii_stream_new(rule, 3);
	struct packet out = { 0 };

	pii_stream_feed(stream, "one äöü, ", 12, &out);
	ck_assert_uint_eq(out.size, strlen("one äö"));
	pii_stream_end(stream, &out);
	ck_assert_uint_eq(out.size, 12);
	packet_release(&out);
	pii_stream_destroy(&stream);
	pii_rule_destroy(&rule);
}
END_TEST

START_TEST(blocking_lets_nothing_go_before_the_end_and_then_all_or_nothing)
{
	struct pii_rule *rule = rule_of("email", PII_BLOCK, NULL);
	struct pii_findings findings;
	unsigned bad;

	for (bad = 0; bad < 2; bad++) {
		struct pii_stream *stream = pii_stream_new(rule, 0);
		struct packet out = { 0 };

		pii_stream_feed(stream, "not a word of this ", 19, &out);
		pii_stream_feed(stream, bad ? "to a@b." : "to a at", 7, &out);
		pii_stream_feed(stream, "co. ", 4, &out);
		ck_assert_uint_eq(out.size, 0);
		findings = pii_stream_end(stream, &out);
		ck_assert_uint_eq(out.size, bad ? 0 : 30);
		ck_assert_uint_eq(findings.count, bad);
		packet_release(&out);
		pii_stream_destroy(&stream);
	}
	pii_rule_destroy(&rule);
}
END_TEST

/* A million pieces of one byte that all wait for the end of one value. */
static const struct {
	enum pii_strategy strategy;
	const char *text, *out; /* "/": a break */
} blocks[] = {
	{ PII_REDACT, "v/1.2.3.4/th is it", "v[REDACTED_IP]th is it" },
	{ PII_REDACT, "1.2./3.4 and 1.1.1.1/.1", "1.2.3.4 and [REDACTED_IP].1" },
	{ PII_REDACT, "/a//b/", "ab" },
	{ PII_BLOCK, "a/b", "ab" },
	{ PII_BLOCK, "a/1.2.3.4", "" },
	{ PII_BLOCK, "1.2.3.4/a", "" },
	{ PII_BLOCK, "1.2./3.4", "1.2.3.4" },
};

/* As the thread has it, where each block is a text. */
START_TEST(each_block_is_looked_at_by_itself)
{
	struct pii_rule *rule = rule_of("ip", blocks[_i].strategy, NULL);
	struct pii_stream *stream = pii_stream_new(rule, 7);
	struct packet out = { 0 };
	const char *at;

	for (at = blocks[_i].text; *at != '\0'; at++) {
		if (*at == '/')
			pii_stream_break(stream, &out);
		else
			pii_stream_feed(stream, at, 1, &out);
		if (blocks[_i].strategy == PII_BLOCK)
			ck_assert_uint_eq(out.size, 0);
	}
	pii_stream_end(stream, &out);
	ck_assert_uint_eq(out.size, strlen(blocks[_i].out));
	if (out.size > 0)
		ck_assert_int_eq(memcmp(out.data, blocks[_i].out, out.size), 0);
	packet_release(&out);
	pii_stream_destroy(&stream);
	pii_rule_destroy(&rule);
}
END_TEST

START_TEST(a_long_value_costs_what_it_is_long)
{
	static const char *const detectors[] = { NULL, "[a-z]+!" };
	struct pii_rule *rule = rule_of("email", PII_REDACT, detectors[_i]);
	struct pii_stream *stream = pii_stream_new(rule, 0);
	struct packet out = { 0 };
	size_t i;

	for (i = 0; i < 1000000; i++)
		pii_stream_feed(stream, "a", 1, &out);
	ck_assert_uint_eq(out.size, 0);
	pii_stream_feed(stream, _i == 0 ? "@b.de " : "!     ", 6, &out);
	ck_assert_uint_eq(pii_stream_end(stream, &out).count, 1);
	ck_assert_uint_lt(out.size, 30);
	packet_release(&out);
	pii_stream_destroy(&stream);
	pii_rule_destroy(&rule);
}
END_TEST

/* What has no end is withheld, and not let go because it could not be searched. */
START_TEST(what_could_not_be_searched_does_not_go_on)
{
	struct pii_rule *rule = rule_of("own", PII_REDACT, "(a+)+\\1$");
	struct pii_stream *stream = pii_stream_new(rule, 0);
	struct packet out = { 0 };
	size_t i;

	for (i = 0; i < 3000; i++)
		pii_stream_feed(stream, "aaaaaaaaaa", 10, &out);
	pii_stream_feed(stream, "b", 1, &out);
	ck_assert(pii_stream_end(stream, &out).gave_up);
	ck_assert_uint_eq(out.size, 0);
	pii_stream_destroy(&stream);
	pii_rule_destroy(&rule);
}
END_TEST

TCase *tcase_pii_stream(void);
TCase *
tcase_pii_stream(void)
{
	TCase *tcase = tcase_create("pii_stream");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, however_a_text_is_cut_what_comes_out_is_the_same, 0,
	    sizeof texts / sizeof *texts);
	tcase_add_test(tcase, nothing_of_a_value_goes_on_before_it_is_whole);
	tcase_add_test(tcase, the_lookback_is_held_back_and_comes_in_the_end);
	tcase_add_test(
	    tcase, blocking_lets_nothing_go_before_the_end_and_then_all_or_nothing);
	tcase_add_loop_test(
	    tcase, each_block_is_looked_at_by_itself, 0, sizeof blocks / sizeof *blocks);
	tcase_add_loop_test(tcase, a_long_value_costs_what_it_is_long, 0, 2);
	tcase_add_test(tcase, what_could_not_be_searched_does_not_go_on);
	return tcase;
}
