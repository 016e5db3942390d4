#include "pii_rule.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"
#include "pii_digest.h"
#include "pii_scan.h"

#define SHOWN 4u /* characters at the end that a mask leaves */

struct pii_rule {
	char *type;
	char *upper; /* the type, for [REDACTED_...] */
	enum pii_strategy strategy;
	int kind;                /* of pii_scan, or -1: */
	struct pattern *pattern; /* the user's */
};

const char *const pii_strategy_names[] = { "redact", "mask", "hash", "block", NULL };

/* --- a rule ------------------------------------------------------------------------- */

static char *
copy_text(const char *text)
{
	char *copy = strdup(text);

	if (copy == NULL)
		arena_exhausted();
	return copy;
}

static const char *
unknown_type(struct arena *arena, const char *type)
{
	const char *names = "";
	size_t i;

	for (i = 0; pii_kind_names[i] != NULL; i++)
		names = arena_printf(
		    arena, "%s%s%s", names, i == 0 ? "" : ", ", pii_kind_names[i]);
	return arena_printf(arena,
	    "\"%s\" is none of the built-in types (%s): a type of your own needs a "
	    "detector",
	    type, names);
}

struct pii_rule *
pii_rule_new(struct arena *arena, const char *type, enum pii_strategy strategy,
    const char *detector, const char **error_r)
{
	struct pattern *pattern = NULL;
	struct pii_rule *rule;
	char *at;

	if (detector == NULL && pii_kind_find(type) == -1) {
		*error_r = unknown_type(arena, type);
		return NULL;
	}
	if (detector != NULL) {
		pattern = pattern_new(arena, detector, strlen(detector), error_r);
		if (pattern == NULL)
			return NULL;
	}
	rule = calloc(1, sizeof *rule);
	if (rule == NULL)
		arena_exhausted();
	rule->type = copy_text(type);
	rule->upper = copy_text(type);
	for (at = rule->upper; *at != '\0'; at++)
		if (*at >= 'a' && *at <= 'z')
			*at = (char)(*at - 'a' + 'A');
	rule->strategy = strategy;
	rule->kind = pattern == NULL ? pii_kind_find(type) : -1;
	rule->pattern = pattern;
	return rule;
}

void
pii_rule_destroy(struct pii_rule **rule_p)
{
	struct pii_rule *rule = *rule_p;

	if (rule == NULL)
		return;
	pattern_destroy(&rule->pattern);
	free(rule->type);
	free(rule->upper);
	free(rule);
	*rule_p = NULL;
}

enum pii_strategy
pii_rule_strategy(const struct pii_rule *rule)
{
	return rule->strategy;
}

void
pii_allow(const struct pii_rule *rule, size_t size)
{
	if (rule->pattern != NULL)
		pattern_allow(rule->pattern, size);
}

int
pii_seek(const struct pii_rule *rule, const char *text, size_t size, size_t offset,
    bool more, size_t *from_r, size_t *to_r)
{
	if (rule->pattern != NULL)
		return pattern_seek(
		    rule->pattern, text, size, offset, more, from_r, to_r);
	return pii_scan(rule->kind, text, size, offset, more, from_r, to_r);
}

/* --- what takes the place of a match ------------------------------------------------ */

static void
append_text(struct packet *out, const char *text)
{
	packet_append(out, text, strlen(text));
}

static uint32_t
sha256(const char *match, size_t size)
{
	unsigned char digest[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(digest, (const unsigned char *)match, size);
	return (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 |
	       (uint32_t)digest[2] << 8 | digest[3];
}

static void
hash(const struct pii_rule *rule, const char *match, size_t size, struct packet *out)
{
	bool standard = rule->strategy == PII_SHA256;
	char hex[9];

	snprintf(hex, sizeof hex, "%08" PRIx32,
	    standard ? sha256(match, size) : pii_digest(match, size));
	append_text(out, "<");
	append_text(out, rule->type);
	append_text(out, "_hash:");
	append_text(out, hex);
	append_text(out, ">");
}

/* How often c is in match. */
static size_t
count_of(const char *match, size_t size, char c)
{
	size_t i, count = 0;

	for (i = 0; i < size; i++)
		count += match[i] == c;
	return count;
}

/* The place behind the last c, 0 when there is none. */
static size_t
behind_last(const char *match, size_t size, char c)
{
	while (size > 0 && match[size - 1] != c)
		size--;
	return size;
}

static void
mask_email(const char *match, size_t size, struct packet *out)
{
	size_t domain = behind_last(match, size, '@'), top;

	if (count_of(match, size, '@') != 1) {
		append_text(out, "****");
		return;
	}
	packet_append(out, match, domain);
	append_text(out, "****");
	top = behind_last(match + domain, size - domain, '.');
	if (top > 0)
		packet_append(out, match + domain + top - 1, size - domain - top + 1);
}

static void
mask_card(const char *match, size_t size, struct packet *out)
{
	const char *separator = count_of(match, size, '-') > 0   ? "-"
				: count_of(match, size, ' ') > 0 ? " "
								 : "";
	char digits[SHOWN];
	size_t i, count = 0;

	for (i = size; i > 0 && count < SHOWN; i--)
		if (match[i - 1] >= '0' && match[i - 1] <= '9')
			digits[SHOWN - ++count] = match[i - 1];
	for (i = 0; i < 3; i++) {
		append_text(out, "****");
		append_text(out, separator);
	}
	packet_append(out, digits + SHOWN - count, count);
}

static void
mask_ip(const char *match, size_t size, struct packet *out)
{
	size_t last = behind_last(match, size, '.');

	if (count_of(match, size, '.') != 3) {
		append_text(out, "****");
		return;
	}
	append_text(out, "*.*.*.");
	packet_append(out, match + last, size - last);
}

/* Where the last left characters begin; 0 when there are not more. */
static size_t
shown_from(const char *match, size_t size, size_t left)
{
	while (size > 0 && left > 0)
		if (((unsigned char)match[--size] & 0xc0) != 0x80)
			left--;
	return size;
}

static void
mask_other(const char *match, size_t size, struct packet *out)
{
	size_t from = shown_from(match, size, SHOWN);

	append_text(out, "****");
	if (from > 0)
		packet_append(out, match + from, size - from);
}

static void
mask_mac(const char *match, size_t size, struct packet *out)
{
	const char *separator = count_of(match, size, ':') > 0 ? ":" : "-";
	size_t from = shown_from(match, size, 2), i;

	for (i = 0; i < 5; i++) {
		append_text(out, "**");
		append_text(out, separator);
	}
	packet_append(out, match + from, size - from);
}

static void
mask_url(const char *match, size_t size, struct packet *out)
{
	(void)match;
	(void)size;
	append_text(out, "[MASKED_URL]");
}

static void
mask(const struct pii_rule *rule, const char *match, size_t size, struct packet *out)
{
	static const struct {
		const char *type;
		void (*mask)(const char *match, size_t size, struct packet *out);
	} masks[] = {
		{ "email", mask_email },
		{ "credit_card", mask_card },
		{ "ip", mask_ip },
		{ "mac_address", mask_mac },
		{ "url", mask_url },
	};
	size_t i;

	/* By the name of the type, whoever found it. */
	for (i = 0; i < sizeof masks / sizeof *masks; i++)
		if (strcmp(masks[i].type, rule->type) == 0) {
			masks[i].mask(match, size, out);
			return;
		}
	mask_other(match, size, out);
}

void
pii_replace(
    const struct pii_rule *rule, const char *match, size_t size, struct packet *out)
{
	assert(rule->strategy != PII_BLOCK);
	switch (rule->strategy) {
	case PII_MASK:
		mask(rule, match, size, out);
		break;
	case PII_HASH:
	case PII_SHA256:
		hash(rule, match, size, out);
		break;
	default:
		append_text(out, "[REDACTED_");
		append_text(out, rule->upper);
		append_text(out, "]");
	}
}

/* --- what has been replaced already -------------------------------------------------- */

/* The end of what a rule like this has put at text, or 0: the forms of "redact" and "hash", and of
 * a mask the stars with the characters that it shows. */
static size_t
own_end(const struct pii_rule *rule, const char *text, size_t size)
{
	size_t type = strlen(rule->type), end, left;

	switch (rule->strategy) {
	case PII_MASK:
		if (size < SHOWN || memcmp(text, "****", SHOWN) != 0)
			return 0;
		for (end = SHOWN, left = SHOWN + 1; end < size; end++)
			if (((unsigned char)text[end] & 0xc0) != 0x80 && --left == 0)
				break;
		return end;
	case PII_HASH:
	case PII_SHA256:
		end = type + strlen("<_hash:12345678>");
		return size >= end && text[0] == '<' &&
			       memcmp(text + 1, rule->type, type) == 0 &&
			       memcmp(text + 1 + type, "_hash:", 6) == 0 &&
			       strspn(text + 7 + type, "0123456789abcdef") >= 8 &&
			       text[end - 1] == '>'
			   ? end
			   : 0;
	default:
		end = type + strlen("[REDACTED_]");
		return size >= end && memcmp(text, "[REDACTED_", 10) == 0 &&
			       memcmp(text + 10, rule->upper, type) == 0 &&
			       text[end - 1] == ']'
			   ? end
			   : 0;
	}
}

/* Whether the match lies within what was put there. */
static bool
is_own(const struct pii_rule *rule, const char *text, size_t size, size_t from, size_t to)
{
	size_t longest = strlen(rule->type) + (size_t)4 * SHOWN + strlen("[REDACTED_]"),
	       at;

	for (at = to > longest ? to - longest : 0; at <= from; at++)
		if (at + own_end(rule, text + at, size - at) >= to)
			return true;
	return false;
}

/* --- texts and values ---------------------------------------------------------------- */

void
pii_redact(const struct pii_rule *rule, const char *text, size_t size, struct packet *out,
    struct pii_findings *findings)
{
	size_t done = 0, from, to;
	int found;

	if (rule->pattern != NULL)
		pattern_allow_next(rule->pattern, size);
	while ((found = pii_seek(rule, text, size, done, false, &from, &to)) == 1) {
		bool own = findings->again && is_own(rule, text, size, from, to);

		findings->count += !own;
		if (rule->strategy == PII_BLOCK || own) {
			packet_append(out, text + done, to - done);
		} else {
			packet_append(out, text + done, from - done);
			pii_replace(rule, text + from, to - from, out);
		}
		done = to;
	}
	if (found == -1)
		findings->gave_up = true;
	packet_append(out, text + done, size - done);
}

static const struct value *
redact_text(struct arena *arena, const struct pii_rule *rule, const struct value *text,
    struct pii_findings *findings)
{
	struct pii_findings own = { .again = findings->again };
	struct packet out = { 0 };

	pii_redact(rule, text->text, text->size, &out, &own);
	findings->count += own.count;
	findings->gave_up |= own.gave_up;
	if (own.count > 0 && rule->strategy != PII_BLOCK)
		text = value_strn(arena, out.data, out.size);
	packet_release(&out);
	return text;
}

static const struct value *
redact_list(struct arena *arena, const struct pii_rule *rule, const struct value *array,
    struct pii_findings *findings)
{
	struct value_list list = { .arena = arena };
	bool changed = false;
	size_t i;

	for (i = 0; i < array->size; i++) {
		const struct value *item =
		    pii_redact_value(arena, rule, array->items[i], findings);

		changed |= item != array->items[i];
		value_list_add(&list, item);
	}
	return changed ? value_list_end(&list) : array;
}

static const struct value *
redact_map(struct arena *arena, const struct pii_rule *rule, const struct value *map,
    struct pii_findings *findings)
{
	struct value_fields fields = { .arena = arena };
	bool changed = false;
	size_t i;

	for (i = 0; i < map->size; i++) {
		const struct value *value =
		    pii_redact_value(arena, rule, map->pairs[i].value, findings);

		changed |= value != map->pairs[i].value;
		value_fields_put(&fields, map->pairs[i].key, value);
	}
	return changed ? value_fields_end(&fields) : map;
}

const struct value *
pii_redact_value(struct arena *arena, const struct pii_rule *rule,
    const struct value *value, struct pii_findings *findings)
{
	if (value_is(value, VALUE_STR))
		return redact_text(arena, rule, value, findings);
	if (value_is(value, VALUE_ARRAY))
		return redact_list(arena, rule, value, findings);
	if (value_is(value, VALUE_MAP))
		return redact_map(arena, rule, value, findings);
	return value;
}

const char *
pii_findings_text(
    struct arena *arena, const struct pii_rule *rule, const struct pii_findings *findings)
{
	if (findings->gave_up)
		return arena_printf(arena,
		    "The text could not be searched for %s: the detector takes too much "
		    "work",
		    rule->type);
	return arena_printf(arena, "Detected %zu instance(s) of %s in text content",
	    findings->count, rule->type);
}
