#include "pii_scan.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "pattern.h"

#define CARD_DIGITS 16u
#define IP_NUMBERS 4u
#define MAC_PAIRS 6u
#define LABEL_BYTES_MAX 63u /* RFC 1035 */

/* A text being looked through. Who reads behind its end is told so: then the text that may
 * follow decides. */
struct scan {
	const char *text;
	size_t size;
	bool end_seen;
};

/* What an attempt at one place gives: a match up to `to`, or none, and none that begins in front
 * of `next`. */
struct attempt {
	bool matches;
	size_t to, next;
};

static int
at(struct scan *scan, size_t place)
{
	if (place < scan->size)
		return (unsigned char)scan->text[place];
	scan->end_seen = true;
	return -1;
}

/* Of ASCII; no character class of C, which may know others. */
static bool
is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static bool
is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_alnum(int c)
{
	return is_digit(c) || is_letter(c);
}

static bool
is_word(int c)
{
	return is_alnum(c) || c == '_';
}

static bool
is_hex(int c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Of the white space of Unicode beyond ASCII, by its UTF-8 bytes. */
static bool
is_wide_space(uint32_t bytes)
{
	static const uint32_t spaces[] = { 0xc285, 0xc2a0, 0xe19a80, 0xe280a8, 0xe280a9,
		0xe280af, 0xe2819f, 0xe38080, 0xefbbbf };
	size_t i;

	for (i = 0; i < sizeof spaces / sizeof *spaces; i++)
		if (bytes == spaces[i])
			return true;
	return bytes >= 0xe28080 && bytes <= 0xe2808a; /* U+2000 to 200A */
}

/* Bytes of the white space at place, as Unicode has it; 0 when there is none. */
static size_t
space_size(struct scan *scan, size_t place)
{
	int first = at(scan, place);
	uint32_t bytes;
	size_t size, i;

	if (first < 0xc2)
		return first == ' ' || (first >= '\t' && first <= '\r') ||
		       (first >= 0x1c && first <= 0x1f);
	if (first != 0xc2 && first != 0xe1 && first != 0xe2 && first != 0xe3 &&
	    first != 0xef)
		return 0;
	size = first < 0xe0 ? 2 : 3;
	for (i = 0, bytes = 0; i < size; i++)
		bytes = bytes << 8 | ((uint32_t)at(scan, place + i) & 0xff);
	return is_wide_space(bytes) ? size : 0;
}

static struct attempt
none(size_t next)
{
	return (struct attempt){ .next = next };
}

static struct attempt
found(size_t to)
{
	return (struct attempt){ .matches = true, .to = to, .next = to };
}

/* --- email: [A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,} --------------------------- */

static bool
is_local(int c)
{
	return is_word(c) || c == '.' || c == '%' || c == '+' || c == '-';
}

static bool
is_domain(int c)
{
	return is_alnum(c) || c == '.' || c == '-';
}

/* The end of the top domain behind the dot at place, or 0. end: of the domain's characters. */
static size_t
top_domain(struct scan *scan, size_t place, size_t end)
{
	size_t to = place + 1;

	while (to < end && is_letter(scan->text[to]))
		to++;
	if (to - place < 3 || is_word(at(scan, to)))
		return 0;
	return to;
}

/* What begins in front of the @ of a run of characters has the same end or none: nothing is looked
 * at twice. */
static struct attempt
try_email(struct scan *scan, size_t from)
{
	size_t place = from, begin, end, to;

	while (is_local(at(scan, place)))
		place++;
	if (place == from || at(scan, place) != '@')
		return none(place == from ? from + 1 : place);
	begin = place + 1;
	for (end = begin; is_domain(at(scan, end)); end++)
		;
	for (place = end; place > begin + 1; place--) {
		if (scan->text[place - 1] != '.')
			continue;
		to = top_domain(scan, place - 1, end);
		if (to != 0)
			return found(to);
	}
	return none(begin);
}

/* --- credit_card: four times four digits, one space or hyphen between them or none --- */

static bool
passes_luhn(const char *digits)
{
	unsigned sum = 0, i;

	for (i = 0; i < CARD_DIGITS; i++) {
		unsigned digit = (unsigned)(digits[i] - '0');

		if (i % 2 == 0)
			digit = digit > 4 ? 2 * digit - 9 : 2 * digit;
		sum += digit;
	}
	return sum % 10 == 0;
}

static struct attempt
try_card(struct scan *scan, size_t from)
{
	char digits[CARD_DIGITS];
	size_t place = from, i;

	for (i = 0; i < CARD_DIGITS; i++) {
		if (i > 0 && i % 4 == 0)
			place += at(scan, place) == '-' ? 1 : space_size(scan, place);
		if (!is_digit(at(scan, place)))
			return none(from + 1);
		digits[i] = scan->text[place++];
	}
	if (is_word(at(scan, place)) || !passes_luhn(digits))
		return none(from + 1);
	return found(place);
}

/* --- ip: four numbers up to 255 without leading zeros -------------------------------- */

/* Returns how many digits the number at place has, 0 when it is none. */
static size_t
ip_number(struct scan *scan, size_t place)
{
	unsigned number = 0;
	size_t i;

	for (i = 0; i < 4 && is_digit(at(scan, place + i)); i++)
		number = 10 * number + (unsigned)(scan->text[place + i] - '0');
	if (i > 3 || number > 255 || (i > 1 && scan->text[place] == '0'))
		return 0;
	return i;
}

static struct attempt
try_ip(struct scan *scan, size_t from)
{
	size_t place = from, i, digits;

	for (i = 0; i < IP_NUMBERS; i++) {
		if (i > 0 && at(scan, place++) != '.')
			return none(from + 1);
		digits = ip_number(scan, place);
		if (digits == 0)
			return none(from + 1);
		place += digits;
	}
	return is_word(at(scan, place)) ? none(from + 1) : found(place);
}

/* --- mac_address: six pairs of hexadecimal digits, : or - between them ---------------- */

static struct attempt
try_mac(struct scan *scan, size_t from)
{
	size_t place = from, i;

	for (i = 0; i < MAC_PAIRS; i++, place += 2) {
		if (i > 0) {
			int between = at(scan, place++);

			if (between != ':' && between != '-')
				return none(from + 1);
		}
		if (!is_hex(at(scan, place)) || !is_hex(at(scan, place + 1)))
			return none(from + 1);
	}
	return is_word(at(scan, place)) ? none(from + 1) : found(place);
}

/* --- url: http://... and https://..., or a bare host with a path or www. -------------- */

/* What scheme is at from: the end of "://", or 0. */
static size_t
scheme_end(struct scan *scan, size_t from)
{
	static const char scheme[] = "http";
	size_t i;

	for (i = 0; scheme[i] != '\0'; i++)
		if ((at(scan, from + i) | 0x20) != scheme[i])
			return 0;
	if (at(scan, from + i) == 's' || at(scan, from + i) == 'S')
		i++;
	if (at(scan, from + i) != ':' || at(scan, from + i + 1) != '/' ||
	    at(scan, from + i + 2) != '/')
		return 0;
	return from + i + 3;
}

/* The end of what stands up to white space or one of the characters of stop. */
static size_t
run_end(struct scan *scan, size_t place, const char *stop)
{
	for (;;) {
		int c = at(scan, place);

		if (c == -1 || (c != 0 && strchr(stop, c) != NULL) ||
		    space_size(scan, place) > 0)
			return place;
		place++;
	}
}

/* The end of the host's label at place: [A-Za-z0-9-]+, a letter or digit at both ends. */
static size_t
label_end(struct scan *scan, size_t place)
{
	size_t end = place;

	if (!is_alnum(at(scan, place)))
		return place;
	while (end - place < LABEL_BYTES_MAX &&
	       (is_alnum(at(scan, end)) || at(scan, end) == '-'))
		end++;
	while (scan->text[end - 1] == '-')
		end--;
	return end;
}

/* The end of the host of several labels at from, or of what it has of one. */
static size_t
host_end(struct scan *scan, size_t from, size_t *labels_r)
{
	size_t end = label_end(scan, from), next;

	for (*labels_r = end > from; at(scan, end) == '.'; ++*labels_r) {
		next = label_end(scan, end + 1);
		if (next == end + 1)
			break;
		end = next;
	}
	return end;
}

/* Where in the host in front of end a scheme begins: "foo.http://...", or 0. */
static size_t
scheme_before(struct scan *scan, size_t from, size_t end)
{
	size_t size;

	for (size = 5; size >= 4 && at(scan, end) == ':'; size--)
		if (end - from > size && scheme_end(scan, end - size) == end + 3)
			return end - size;
	return 0;
}

static struct attempt
try_bare_url(struct scan *scan, size_t from)
{
	size_t labels, scheme, end;

	if (!is_alnum(at(scan, from)))
		return none(from + 1);
	end = host_end(scan, from, &labels);
	scheme = scheme_before(scan, from, end);
	if (scheme != 0 || labels < 2)
		return none(scheme != 0 ? scheme : end);
	if (at(scan, end) == '/')
		return found(run_end(scan, end, ""));
	if (strncasecmp(scan->text + from, "www.", 4) == 0)
		return found(end);
	return none(end);
}

/* What cannot be a host. */
static bool
begins_path(int c)
{
	return c == '/' || c == '?' || c == '#';
}

static struct attempt
try_url(struct scan *scan, size_t from)
{
	size_t host = scheme_end(scan, from), to;

	/* What is no host is not run over: the next place would run over the rest again. */
	if (host != 0 && !begins_path(at(scan, host))) {
		to = run_end(scan, host, "<>\"{}|\\^`[]");
		if (to > host)
			return found(to);
	}
	if (from > 0 && is_word((unsigned char)scan->text[from - 1]))
		return none(from + 1);
	return try_bare_url(scan, from);
}

/* --- all of them -------------------------------------------------------------------- */

const char *const pii_kind_names[] = { "email", "credit_card", "ip", "mac_address", "url",
	NULL };

static const struct {
	struct attempt (*try)(struct scan *scan, size_t from);
	bool inside_words; /* may begin behind a letter or digit */
} kinds[] = {
	{ .try = try_email },
	{ .try = try_card },
	{ .try = try_ip },
	{ .try = try_mac },
	{ .try = try_url, .inside_words = true },
};

int
pii_kind_find(const char *name)
{
	int kind;

	for (kind = 0; pii_kind_names[kind] != NULL; kind++)
		if (strcmp(pii_kind_names[kind], name) == 0)
			return kind;
	return -1;
}

/* \b in front of the character at offset. */
static bool
is_word_edge(const char *text, size_t offset)
{
	bool behind = offset > 0 && is_word((unsigned char)text[offset - 1]);

	return is_word((unsigned char)text[offset]) != behind;
}

int
pii_scan(int kind, const char *text, size_t size, size_t offset, bool more,
    size_t *from_r, size_t *to_r)
{
	struct scan scan = { .text = text, .size = size };
	struct attempt attempt;

	for (; offset < size; offset = attempt.next) {
		attempt = none(offset + 1);
		if (!kinds[kind].inside_words && !is_word_edge(text, offset))
			continue;
		scan.end_seen = false;
		attempt = kinds[kind].try(&scan, offset);
		if (more && scan.end_seen) {
			*from_r = offset;
			*to_r = size;
			return PATTERN_PARTIAL;
		}
		if (attempt.matches) {
			*from_r = offset;
			*to_r = attempt.to;
			return 1;
		}
	}
	return 0;
}
