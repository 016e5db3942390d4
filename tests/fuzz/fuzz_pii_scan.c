/* What the detectors find in a text is what the regular expressions find, and nothing is left for a
 * second look but what was put there. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../middleware/builtin/pii_rule.h"
#include "../../proto/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define IP_NUMBER "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
#define TEXT_BYTES_MAX 4096u

static const struct {
	const char *type, *regex;
} kinds[] = {
	{ "email", "\\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\\.[A-Za-z]{2,}\\b" },
	{ "ip", "\\b(?:" IP_NUMBER "\\.){3}" IP_NUMBER "\\b" },
	{ "mac_address", "\\b([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\\b" },
	{ "credit_card", NULL },
	{ "url", NULL },
};

static struct packet
redact(struct arena *arena, const char *type, const char *regex, const char *text,
    size_t size, struct pii_findings *findings)
{
	const char *error;
	struct pii_rule *rule = pii_rule_new(arena, type, PII_REDACT, regex, &error);
	struct packet out = { 0 };

	pii_redact(rule, text, size, &out, findings);
	pii_rule_destroy(&rule);
	return out;
}

static void
check(struct arena *arena, const char *type, const char *regex, const char *text,
    size_t size)
{
	struct pii_findings own = { 0 }, other = { 0 }, again = { .again = true };
	struct packet mine = redact(arena, type, NULL, text, size, &own), next;

	if (own.gave_up)
		abort(); /* the detectors never do */
	if (mine.size > 0) {
		next = redact(arena, type, NULL, mine.data, mine.size, &again);
		packet_release(&next);
	}
	if (regex != NULL) {
		next = redact(arena, type, regex, text, size, &other);
		if (!other.gave_up &&
		    (own.count != other.count || mine.size != next.size ||
			(mine.size > 0 && memcmp(mine.data, next.data, mine.size) != 0)))
			abort();
		packet_release(&next);
	}
	packet_release(&mine);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena;
	size_t kind;
	char *text;

	if (size < 2 || size > TEXT_BYTES_MAX)
		return 0;
	arena = arena_new();
	kind = *data % (sizeof kinds / sizeof *kinds);
	text = utf8_repair(arena, (const char *)data + 1, size - 1, &size);
	check(arena, kinds[kind].type, kinds[kind].regex, text, size);
	arena_destroy(&arena);
	return 0;
}
