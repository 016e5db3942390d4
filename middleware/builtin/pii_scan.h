/* pii_scan: where the values of the built-in kinds are in a text: email, credit_card, ip,
 * mac_address, url (semantics.md 6.8).
 *
 * Written by hand, not as regular expressions: the time is linear in the text, whatever the
 * text is, and a stream is told exactly from where on it must be held back. Tests and a fuzzer
 * hold it to the regular expressions. As in them letters, digits and _ of ASCII make words,
 * everything else parts them. Where the sources differ, and from all of them:
 * - the pipe that the top domain of an email may hold by a slip is none here: "a@b.co|c@d.co" are
 *   two addresses;
 * - a value that fails its check (Luhn, a number above 255) hides none that begins inside of it. */
#ifndef PII_SCAN_H
#define PII_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the number of the kind, or -1. */
int pii_kind_find(const char *name);

/* The names, NULL-ended. */
extern const char *const pii_kind_names[];

/* Looks in the size bytes at text (UTF-8) for the first value that begins at offset or behind it.
 * 1 with its bytes in *from_r and *to_r, 0 when there is none.
 *
 * more: behind text there may be more of it. Then PATTERN_PARTIAL (pattern.h) as pattern_seek. */
int pii_scan(int kind, const char *text, size_t size, size_t offset, bool more,
    size_t *from_r, size_t *to_r);

#endif
