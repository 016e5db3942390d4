#include "pii_stream.h"

#include <stdlib.h>

#include "pattern.h"

/* What is held back is looked at again when it has grown by such a part: each byte so costs its
 * share, however small the pieces are. */
#define GROWTH 8u

struct pii_stream {
	const struct pii_rule *rule;
	size_t lookback;
	struct packet
	    text; /* of this block, all that came in: what a detector looks back at */
	struct packet held; /* blocks before it that wait for the end: of PII_BLOCK */
	size_t searched; /* no match begins in front of it but those that were replaced */
	size_t sent;     /* gone on, as it was or replaced */
	size_t look_at;  /* bytes of text at which a look is worth it */
	struct pii_findings findings;
};

struct pii_stream *
pii_stream_new(const struct pii_rule *rule, size_t lookback)
{
	struct pii_stream *stream = calloc(1, sizeof *stream);

	if (stream == NULL)
		arena_exhausted();
	stream->rule = rule;
	stream->lookback = lookback;
	return stream;
}

void
pii_stream_destroy(struct pii_stream **stream_p)
{
	struct pii_stream *stream = *stream_p;

	if (stream == NULL)
		return;
	packet_release(&stream->text);
	packet_release(&stream->held);
	free(stream);
	*stream_p = NULL;
}

/* Sends what stands in front of end. */
static void
send_to(struct pii_stream *stream, size_t end, struct packet *out)
{
	if (end <= stream->sent)
		return;
	packet_append(out, stream->text.data + stream->sent, end - stream->sent);
	stream->sent = end;
}

/* Replaces the matches that are certain. Returns what the last look gave: 0, PATTERN_PARTIAL, -1. */
static int
replace_matches(struct pii_stream *stream, bool more, struct packet *out)
{
	size_t from, to;
	int found;

	pii_allow(stream->rule, stream->text.size - stream->searched);
	while ((found = pii_seek(stream->rule, stream->text.data, stream->text.size,
		    stream->searched, more, &from, &to)) == 1) {
		stream->findings.count++;
		stream->searched = to;
		if (pii_rule_strategy(stream->rule) == PII_BLOCK)
			continue;
		send_to(stream, from, out);
		pii_replace(stream->rule, stream->text.data + from, to - from, out);
		stream->sent = to;
	}
	if (found == 0)
		stream->searched = stream->text.size;
	if (found == PATTERN_PARTIAL)
		stream->searched = from;
	return found;
}

/* Where the last characters that are held back in any case begin. */
static size_t
held_from(const struct pii_stream *stream)
{
	size_t place = stream->text.size, left = stream->lookback;

	while (left > 0 && place > stream->sent)
		if (((unsigned char)stream->text.data[--place] & 0xc0) != 0x80)
			left--;
	return place;
}

void
pii_stream_feed(
    struct pii_stream *stream, const char *text, size_t size, struct packet *out)
{
	size_t end;

	if (stream->findings.gave_up)
		return; /* of a block before: the answer goes nowhere */
	packet_append(&stream->text, text, size);
	if (stream->text.size < stream->look_at)
		return;
	/* What takes too much work now may take less as a whole: the end decides. */
	replace_matches(stream, true, out);
	stream->look_at =
	    stream->text.size + (stream->text.size - stream->searched) / GROWTH;
	if (pii_rule_strategy(stream->rule) == PII_BLOCK)
		return;
	end = held_from(stream);
	send_to(stream, end < stream->searched ? end : stream->searched, out);
}

void
pii_stream_break(struct pii_stream *stream, struct packet *out)
{
	if (stream->text.size > 0 && replace_matches(stream, false, out) == -1)
		stream->findings.gave_up = true;
	if (pii_rule_strategy(stream->rule) == PII_BLOCK && stream->text.size > 0)
		packet_append(&stream->held, stream->text.data, stream->text.size);
	else if (!stream->findings.gave_up)
		send_to(stream, stream->text.size, out);
	stream->text.size = stream->searched = stream->sent = stream->look_at = 0;
}

struct pii_findings
pii_stream_end(struct pii_stream *stream, struct packet *out)
{
	pii_stream_break(stream, out);
	if (stream->held.size > 0 && !stream->findings.gave_up &&
	    stream->findings.count == 0)
		packet_append(out, stream->held.data, stream->held.size);
	return stream->findings;
}
