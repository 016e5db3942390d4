/* However a text is cut, what comes out of the stream is what the whole gives, and nothing of it comes
 * that the whole has not in front. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../middleware/builtin/pii_stream.h"
#include "../../proto/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_BYTES_MAX 2048u

static const struct {
	const char *type, *detector;
} kinds[] = {
	{ "email", NULL },
	{ "credit_card", NULL },
	{ "ip", NULL },
	{ "mac_address", NULL },
	{ "url", NULL },
	{ "key", "sk-[a-z]{4,8}" },
	{ "key", "(?<=id )[0-9]+(?! kg)" },
	{ "key", "^a|b$|\\bc\\b" },
	{ "key", "(?s)BEGIN.*?END|B" },
	{ "key", "a+|(.)\\1" },
};

/* Aborts unless what is in out so far is how all begins. */
static void
check_front(const struct packet *out, const struct packet *all)
{
	if (out->size > all->size ||
	    (out->size > 0 && memcmp(out->data, all->data, out->size) != 0))
		abort();
}

static void
feed_pieces(struct pii_stream *stream, const char *text, size_t size, const uint8_t *cuts,
    size_t cut_count, const struct packet *all)
{
	struct pii_findings findings;
	struct packet out = { 0 };
	size_t from = 0, cut = 0;

	while (from < size) {
		size_t piece = cut_count == 0 ? 1 : cuts[cut++ % cut_count] % 24 + 1u;
		char *copy;

		if (piece > size - from)
			piece = size - from;
		while (
		    from + piece < size && ((uint8_t)text[from + piece] & 0xc0) == 0x80)
			piece++;
		copy = malloc(piece); /* so that a read behind its end is seen */
		memcpy(copy, text + from, piece);
		pii_stream_feed(stream, copy, piece, &out);
		free(copy);
		check_front(&out, all);
		from += piece;
	}
	findings = pii_stream_end(stream, &out);
	check_front(&out, all);
	if (!findings.gave_up && out.size != all->size)
		abort();
	packet_release(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pii_findings findings = { 0 };
	struct pii_stream *stream;
	struct packet all = { 0 };
	struct pii_rule *rule;
	struct arena *arena;
	const char *error;
	size_t kind, cuts;
	char *text;

	if (size < 4 || size > TEXT_BYTES_MAX)
		return 0;
	kind = data[0] % (sizeof kinds / sizeof *kinds);
	cuts = data[2] % 8 < size - 3 ? data[2] % 8 : 0;
	arena = arena_new();
	rule =
	    pii_rule_new(arena, kinds[kind].type, PII_HASH, kinds[kind].detector, &error);
	stream = pii_stream_new(rule, data[1] % 16);
	text = utf8_repair(arena, (const char *)data + 3 + cuts, size - 3 - cuts, &size);
	pii_redact(rule, text, size, &all, &findings);
	if (!findings.gave_up)
		feed_pieces(stream, text, size, data + 3, cuts, &all);
	packet_release(&all);
	pii_stream_destroy(&stream);
	pii_rule_destroy(&rule);
	arena_destroy(&arena);
	return 0;
}
