#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "literal.h"
#include "pii_digest.h"

/* Interface under test */
#include "pii_rule.h"

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

static const char *
redact(const char *type, enum pii_strategy strategy, const char *detector,
    const char *text, struct pii_findings *findings)
{
	struct pii_rule *rule = rule_of(type, strategy, detector);
	struct packet out = { 0 };
	const char *result;

	pii_redact(rule, text, strlen(text), &out, findings);
	result = arena_copy(arena, out.size > 0 ? out.data : "", out.size);
	packet_release(&out);
	pii_rule_destroy(&rule);
	return result;
}

/* --- what is found ------------------------------------------------------------------ */

/* { what is private between these brackets } */
static const struct {
	const char *type, *text;
} texts[] = {
	{ "email", "write to {ann.lee+x@mail.example.org} and {bob@site.io}!" },
	{ "email", "{a@b.co}, <{a@b.co}>; a@b, a@b.c, @b.co, a@.co" },
	{ "email", "mail:{x_1%y@a-b.c-d.museum}." },
	{ "email", "联系{alice@example.com}谢谢, ü{b@c.de}ü" },
	{ "email", "a@b.co1 a@b.co_ {a@b.co}.1 {a@b.co}-x {a@b.c.de}" },
	{ "email", "{a@b.co}|{c@d.co}" },
	{ "email", "a@b@{c@d.co} @@@ a@@b.co ..{x@y.de}" },
	{ "email", "{a..b@c..de}" },
	{ "credit_card", "{4532-0151-1283-0366} or {4532015112830366} or "
			 "{5425 2334 3010 9903}, not 1234-5678-9012-3456" },
	{ "credit_card", "4532--0151-1283-0366 x4532015112830366 "
			 "45320151128303661 {4532 01511283-0366}" },
	{ "credit_card", "1111 {4532 0151 1283 0366}" },
	{ "credit_card", "{4532\xc2\xa0"
			 "0151\xe2\x80\xaf"
			 "1283 0366}; 453201511283036" },
	{ "ip", "from {192.168.10.77} to {8.8.8.8}; 999.1.1.1 is none" },
	{ "ip", "{0.0.0.0} {255.255.255.255} 256.1.1.1 1.2.3 {1.2.3.4}.5 01.2.3.4" },
	{ "ip", "1.2.3.4567 v1.2.3.4 {1.2.3.4}" },
	{ "mac_address", "{00:1A:2B:3C:4D:5E} and {00-1a-2b-3c-4d-5f}" },
	{ "mac_address", "00:1A:2B:3C:4D 00:1A:2B:3C:4D:5G 000:1A:2B:3C:4D:5E" },
	{ "url", "see {https://example.com/a?b=1} and {http://x.io/}" },
	{ "url", "<{HTTPS://x.y}> \"{http://a}\" [{http://b}]" },
	{ "url", "example.com, {example.com/,} {www.example.com}, {WWW.x.y} e.g. 1.5" },
	{ "url", "https:// http:///x http://?x {http://ü.de}" },
	{ "url", "xx{http://a.b} foo.{http://a.b} www.{http://x}" },
	{ "url", "and/or a/b {a.b/c} x..y/z -{a.b/c}" },
};

/* The text without brackets, and with [...] in place of what is between them. */
static const char *
plain(const char *marked)
{
	char *text = arena_strdup(arena, marked), *to = text;

	for (; *marked != '\0'; marked++)
		if (*marked != '{' && *marked != '}')
			*to++ = *marked;
	*to = '\0';
	return text;
}

static const char *
expected(const char *marked, const char *token)
{
	const char *text = "";

	while (*marked != '\0') {
		size_t size = strcspn(marked, "{");

		text = arena_printf(arena, "%s%.*s", text, (int)size, marked);
		marked += size;
		if (*marked == '\0')
			break;
		text = arena_printf(arena, "%s%s", text, token);
		marked = strchr(marked, '}') + 1;
	}
	return text;
}

START_TEST(what_is_private_is_found_and_nothing_else)
{
	const char *text = texts[_i].text, *token, *at;
	struct pii_findings findings = { 0 };
	size_t count = 0;

	token = strcmp(texts[_i].type, "email") == 0         ? "[REDACTED_EMAIL]"
		: strcmp(texts[_i].type, "credit_card") == 0 ? "[REDACTED_CREDIT_CARD]"
		: strcmp(texts[_i].type, "ip") == 0          ? "[REDACTED_IP]"
		: strcmp(texts[_i].type, "mac_address") == 0 ? "[REDACTED_MAC_ADDRESS]"
							     : "[REDACTED_URL]";
	ck_assert_str_eq(redact(texts[_i].type, PII_REDACT, NULL, plain(text), &findings),
	    expected(text, token));
	for (at = text; *at != '\0'; at++)
		count += *at == '{';
	ck_assert_uint_eq(findings.count, count);
	ck_assert(!findings.gave_up);
}
END_TEST

/* --- held to regular expressions ---------------------------------------------------- */

/* Of detectors whose matches fail no check; the others' are in the table. */
static const struct {
	const char *type, *regex, *letters;
} regexes[] = {
	{ "email", "\\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\\.[A-Za-z]{2,}\\b", "aB1.@-_ %" },
	{ "ip",
	    "\\b(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\\.){3}"
	    "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\\b",
	    "125..0a" },
	{ "mac_address", "\\b([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\\b", "a:a:F0-" },
	{ "url",
	    "[hH]ttps?://[^\\s<>\"{}|\\\\^`\\[\\]/?#][^\\s<>\"{}|\\\\^`\\[\\]]*|"
	    "\\b(?!https?:)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
	    "(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+/[^\\s]*",
	    "a.b/- <1" },
};

static const char *
random_text(const char *letters, unsigned *seed)
{
	size_t size = (size_t)rand_r(seed) % 60, i;
	char *text = arena_alloc(arena, size + 1);

	for (i = 0; i < size; i++)
		text[i] = letters[(size_t)rand_r(seed) % strlen(letters)];
	return text;
}

START_TEST(the_detectors_find_what_the_regular_expressions_find)
{
	unsigned seed = 1, round, found = 0;

	for (round = 0; round < 20000; round++) {
		struct pii_findings own = { 0 }, regex = { 0 };
		const char *text = random_text(regexes[_i].letters, &seed);
		const char *mine, *theirs;

		mine = redact(regexes[_i].type, PII_REDACT, NULL, text, &own);
		theirs =
		    redact(regexes[_i].type, PII_REDACT, regexes[_i].regex, text, &regex);
		ck_assert_msg(
		    strcmp(mine, theirs) == 0, "%s\n%s\n%s", text, mine, theirs);
		found += own.count > 0;
		if (round % 1000 == 999) {
			arena_destroy(&arena);
			arena = arena_new();
		}
	}
	ck_assert_uint_gt(found, 0);
}
END_TEST

/* --- what takes its place ----------------------------------------------------------- */

static const struct {
	const char *type, *detector, *text, *masked, *hashed;
} places[] = {
	{ "email", NULL, "john.doe@corp.example.com", "john.doe@****.com",
	    "<email_hash:" },
	{ "credit_card", NULL, "4532-0151-1283-0366", "****-****-****-0366",
	    "<credit_card_hash:" },
	{ "credit_card", NULL, "4532015112830366", "************0366",
	    "<credit_card_hash:" },
	{ "credit_card", NULL, "5425 2334 3010 9903", "**** **** **** 9903",
	    "<credit_card_hash:" },
	{ "ip", NULL, "10.0.0.1", "*.*.*.1", "<ip_hash:11dbfce9>" },
	{ "mac_address", NULL, "00:1A:2B:3C:4D:5E", "**:**:**:**:**:5E",
	    "<mac_address_hash:" },
	{ "mac_address", NULL, "00-1A-2B-3C-4D-5E", "**-**-**-**-**-5E",
	    "<mac_address_hash:" },
	{ "url", NULL, "https://a.b/c", "[MASKED_URL]", "<url_hash:" },
	{ "employee", "EMP[0-9]{5}", "EMP12345", "****2345", "<employee_hash:" },
	{ "pin", "[0-9]{4}", "1234", "****", "<pin_hash:" },
	{ "word", "[^ ]+", "äöüßé", "****öüßé", "<word_hash:" },
	{ "email", "[a-z@]+", "a@b@c", "****", "<email_hash:" },
	{ "email", "[a-z@]+", "a@b", "a@****", "<email_hash:" },
	{ "ip", "[0-9a-f:]+", "fe80::1", "****", "<ip_hash:" },
	{ "mac_address", "[^ ]+", "üö", "**-**-**-**-**-****", "<mac_address_hash:" },
};

START_TEST(a_match_is_masked_and_hashed_by_its_type)
{
	struct pii_findings findings = { 0 };
	const char *hashed;

	if (strcmp(places[_i].text, "üö") != 0)
		ck_assert_str_eq(redact(places[_i].type, PII_MASK, places[_i].detector,
				     places[_i].text, &findings),
		    places[_i].masked);
	hashed = redact(
	    places[_i].type, PII_HASH, places[_i].detector, places[_i].text, &findings);
	ck_assert_msg(strncmp(hashed, places[_i].hashed, strlen(places[_i].hashed)) == 0,
	    "%s", hashed);
	ck_assert_uint_eq(
	    strlen(hashed), strlen(places[_i].type) + strlen("<_hash:12345678>"));
}
END_TEST

START_TEST(equal_values_have_equal_hashes)
{
	struct pii_findings findings = { 0 };

	ck_assert_str_eq(redact("email", PII_HASH, NULL,
			     "a@b.co, again a@b.co, other c@d.co", &findings),
	    "<email_hash:40321493>, again <email_hash:40321493>, other "
	    "<email_hash:f39e1f5b>");
	ck_assert_uint_eq(findings.count, 3);
}
END_TEST

static const char *
texts_of(char c, size_t size)
{
	return memset(arena_alloc(arena, size + 1), c, size);
}

/* The hashes were made by @langchain/core 1.x, the texts longer than a block and than its rest. */
START_TEST(the_hash_is_the_one_of_langchains_javascript)
{
	ck_assert_uint_eq(pii_digest("abc", 3), 0xf2bcc45e);
	ck_assert_uint_eq(pii_digest("üüüüü", 10), 0x4b25509b);
	ck_assert_uint_eq(pii_digest(texts_of('x', 60), 60), 0x4b61dda5);
	ck_assert_uint_eq(pii_digest(texts_of('x', 200), 200), 0x2af9c7ce);
}
END_TEST

START_TEST(or_sha_256)
{
	struct pii_findings findings = { 0 };

	ck_assert_str_eq(
	    redact("ip", PII_SHA256, NULL, "10.0.0.1", &findings), "<ip_hash:f5047344>");
}
END_TEST

START_TEST(blocking_counts_and_says_nothing_of_the_value)
{
	struct pii_rule *rule = rule_of("email", PII_BLOCK, NULL);
	struct pii_findings findings = { 0 };
	const struct value *value = value_str(arena, "a@b.co c@d.co");

	ck_assert_ptr_eq(pii_redact_value(arena, rule, value, &findings), value);
	ck_assert_str_eq(pii_findings_text(arena, rule, &findings),
	    "Detected 2 instance(s) of email in text content");
	pii_rule_destroy(&rule);
}
END_TEST

START_TEST(values_are_redacted_at_any_depth)
{
	struct pii_rule *rule = rule_of("email", PII_REDACT, NULL);
	struct pii_findings findings = { 0 };
	const struct value *value = literal(
	    arena, "{'to': ['a@b.co', 7, {'cc': 'x c@d.co'}], 'n': null, 'ok': 'none'}");
	const struct value *same = value_get(value, "ok");

	value = pii_redact_value(arena, rule, value, &findings);
	ck_assert_str_eq(json_text(arena, value),
	    "{\"to\":[\"[REDACTED_EMAIL]\",7,{\"cc\":\"x [REDACTED_EMAIL]\"}],"
	    "\"n\":null,\"ok\":\"none\"}");
	ck_assert_ptr_eq(value_get(value, "ok"), same);
	ck_assert_uint_eq(findings.count, 2);
	ck_assert_ptr_eq(pii_redact_value(arena, rule, same, &findings), same);
	pii_rule_destroy(&rule);
}
END_TEST

/* --- rules that are none ------------------------------------------------------------ */

START_TEST(unknown_types_and_bad_detectors_are_refused)
{
	const char *error = NULL;

	ck_assert_ptr_null(pii_rule_new(arena, "shoe_size", PII_MASK, NULL, &error));
	ck_assert_ptr_nonnull(strstr(error, "shoe_size"));
	ck_assert_ptr_nonnull(strstr(error, "mac_address"));
	ck_assert_ptr_null(pii_rule_new(arena, "x", PII_MASK, "[a-", &error));
	ck_assert_ptr_nonnull(strstr(error, "at character 3"));
}
END_TEST

/* --- hostile ------------------------------------------------------------------------- */

/* \K in a group that a look-behind calls: the match at b would begin where the one of a did. */
START_TEST(a_match_in_front_of_the_one_before_is_none)
{
	struct pii_findings findings = { 0 };

	ck_assert_str_eq(
	    redact("odd", PII_REDACT, "a|(?<=(?1))b|x(\\Ka)", "-ab-", &findings),
	    "-[REDACTED_ODD]b-");
	ck_assert(findings.gave_up);
}
END_TEST

/* The value is a part of a text of a million bytes, repeated. */
static const struct {
	const char *type, *part;
} floods[] = {
	{ "email", "a" },
	{ "email", "a." },
	{ "email", "a@" },
	{ "email", "@a." },
	{ "email", "a@b.c" },
	{ "email", "-" },
	{ "credit_card", "1" },
	{ "credit_card", "1111-" },
	{ "ip", "1." },
	{ "mac_address", "00:" },
	{ "url", "a." },
	{ "url", "a-" },
	{ "url", "http://" },
	{ "url", "http:///" },
	{ "url", "a.http:" },
	{ "url", "a:" },
	{ "url", "www." },
};

/* Quadratic ones would take hours. */
START_TEST(long_texts_cost_what_they_are_long)
{
	const char *part = floods[_i].part;
	size_t size = 1000000, i;
	char *text = arena_alloc(arena, size + 1);
	struct pii_findings findings = { 0 };

	for (i = 0; i < size; i++)
		text[i] = part[i % strlen(part)];
	redact(floods[_i].type, PII_REDACT, NULL, text, &findings);
	ck_assert(!findings.gave_up);
}
END_TEST

static const char *const hostile[] = { "(a+)+$", "(?:a|b|ab)*c|q$", "[ab]*[bc]x|xy",
	"[ab]*[ab]*[ab]*$" };

START_TEST(a_hostile_detector_gives_up)
{
	size_t size = 300000;
	char *text = arena_alloc(arena, size + 1);
	struct pii_findings findings = { 0 };

	memset(text, 'a', size - 1);
	text[size - 1] = 'x';
	text[7] = 'b';
	redact("own", PII_REDACT, hostile[_i], text, &findings);
	ck_assert(findings.gave_up);
}
END_TEST

/* Each text by itself takes not quite what one may: a message has as many as it likes. */
START_TEST(a_detector_that_nearly_gives_up_does_so_for_few_texts_alone)
{
	const char *error = NULL;
	struct pii_rule *rule =
	    pii_rule_new(arena, "own", PII_REDACT, "^(a+)+$|zz", &error);
	const struct value *text = value_str(arena, "aaaaaaaaaaaaaaaaaab");
	struct pii_findings findings = { 0 };
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < 20; i++)
		value_list_add(&list, text);
	pii_redact_value(arena, rule, value_list_end(&list), &findings);
	ck_assert(!findings.gave_up);
	for (; i < 20000; i++)
		value_list_add(&list, text);
	pii_redact_value(arena, rule, value_list_end(&list), &findings);
	ck_assert(findings.gave_up);
	pii_rule_destroy(&rule);
}
END_TEST

START_TEST(many_matches_of_a_detector_in_a_long_text_are_all_found)
{
	size_t size = 600000, i;
	char *text = arena_alloc(arena, size + 1);
	struct pii_findings findings = { 0 };

	for (i = 0; i < size; i++)
		text[i] = "EMP12 "[i % 6];
	redact("own", PII_REDACT, "EMP[0-9]{2}\\b", text, &findings);
	ck_assert(!findings.gave_up);
	ck_assert_uint_eq(findings.count, 100000);
}
END_TEST

START_TEST(an_empty_match_is_none)
{
	struct pii_findings findings = { 0 };

	ck_assert_str_eq(redact("own", PII_REDACT, "x*|y", "aybxx", &findings),
	    "a[REDACTED_OWN]b[REDACTED_OWN]");
}
END_TEST

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

TCase *tcase_pii_rule(void);
TCase *
tcase_pii_rule(void)
{
	TCase *tcase = tcase_create("pii_rule");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, what_is_private_is_found_and_nothing_else, 0, COUNT(texts));
	tcase_add_loop_test(tcase, the_detectors_find_what_the_regular_expressions_find,
	    0, COUNT(regexes));
	tcase_add_loop_test(
	    tcase, a_match_is_masked_and_hashed_by_its_type, 0, COUNT(places));
	tcase_add_test(tcase, equal_values_have_equal_hashes);
	tcase_add_test(tcase, the_hash_is_the_one_of_langchains_javascript);
	tcase_add_test(tcase, or_sha_256);
	tcase_add_test(tcase, blocking_counts_and_says_nothing_of_the_value);
	tcase_add_test(tcase, values_are_redacted_at_any_depth);
	tcase_add_test(tcase, unknown_types_and_bad_detectors_are_refused);
	tcase_add_loop_test(tcase, long_texts_cost_what_they_are_long, 0, COUNT(floods));
	tcase_add_test(tcase, a_match_in_front_of_the_one_before_is_none);
	tcase_add_loop_test(tcase, a_hostile_detector_gives_up, 0, COUNT(hostile));
	tcase_add_test(
	    tcase, a_detector_that_nearly_gives_up_does_so_for_few_texts_alone);
	tcase_add_test(tcase, many_matches_of_a_detector_in_a_long_text_are_all_found);
	tcase_add_test(tcase, an_empty_match_is_none);
	return tcase;
}
