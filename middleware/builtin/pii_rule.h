/* pii_rule: what is private, and what stands in its place (semantics.md 6.8): a kind of
 * value, how it is found and what is done about it. For the middleware pii, for streams
 * (pii_stream.h), and for the output of shells.
 *
 * What takes the place of a match, by the rule's type:
 *   redact  [REDACTED_EMAIL]
 *   hash    <email_hash:xxxxxxxx>: the first 8 hexadecimal digits of a hash (pii_digest.h), or
 *           of its SHA-256
 *   mask    email local@****.top · credit_card ****-****-****-1234 with its own separator, or
 *           twelve stars and four digits · ip *.*.*.last · mac_address **:**:**:**:**:xx · url
 *           [MASKED_URL] · others **** and the last four characters, if there are more than four
 *   block   nothing: the text must not go on. */
#ifndef PII_RULE_H
#define PII_RULE_H

#include "value.h"

enum pii_strategy {
	PII_REDACT,
	PII_MASK,
	PII_HASH,
	PII_BLOCK,
	PII_SHA256, /* "hash" with SHA-256 */
};

/* "redact", "mask", "hash", "block", NULL-ended, by number. PII_SHA256 has no
 * name. */
extern const char *const pii_strategy_names[];

struct pii_rule;

/* Returns new. detector is a regular expression (pattern.h), or NULL for the built-in one of
 * that type. NULL with a reason in arena: an unknown type without detector, a detector that does
 * not compile. */
struct pii_rule *pii_rule_new(struct arena *arena, const char *type,
    enum pii_strategy strategy, const char *detector, const char **error_r);
void pii_rule_destroy(struct pii_rule **rule_p); /* NULL is fine */

enum pii_strategy pii_rule_strategy(const struct pii_rule *rule);

/* What a rule found. Counts add up over several texts. */
struct pii_findings {
	size_t count;
	bool again; /* set by the caller: leave alone what a rule like this has put there
			 already, for texts that it may have seen before */
	bool gave_up; /* a detector took more work than is allowed: what is in the text is
			 not known, and it must not go on */
};

/* Appends the size bytes at text (UTF-8) to out, with each match replaced; with PII_BLOCK
 * as they are: look at the findings. */
void pii_redact(const struct pii_rule *rule, const char *text, size_t size,
    struct packet *out, struct pii_findings *findings);

/* Returns value with all strings in it redacted, in lists and in the values of maps at any depth;
 * the same pointer when nothing was found (or with PII_BLOCK). */
const struct value *pii_redact_value(struct arena *arena, const struct pii_rule *rule,
    const struct value *value, struct pii_findings *findings);

/* The sentence of a fault: "Detected 2 instance(s) of email in text content", or that the text
 * could not be searched. It says nothing of what was found. */
const char *pii_findings_text(struct arena *arena, const struct pii_rule *rule,
    const struct pii_findings *findings);

/* --- for pii_stream ------------------------------------------------------------------ */

/* Says that size more bytes are to be looked through. */
void pii_allow(const struct pii_rule *rule, size_t size);

/* As pattern_seek. */
int pii_seek(const struct pii_rule *rule, const char *text, size_t size, size_t offset,
    bool more, size_t *from_r, size_t *to_r);

/* Appends what takes the place of the match of size bytes. Not with PII_BLOCK. */
void pii_replace(
    const struct pii_rule *rule, const char *match, size_t size, struct packet *out);

#endif
