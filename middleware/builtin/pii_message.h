/* pii_message: a rule applied to a message: to the text of its content, in each of its blocks. Part of pii. */
#ifndef PII_MESSAGE_H
#define PII_MESSAGE_H

#include "pii_rule.h"

/* Returns message redacted, in arena; the same pointer when there was nothing. The artifact of a tool message is what the
 * content was made of, and goes. */
const struct value *pii_redact_message(struct arena *arena, const struct pii_rule *rule,
    const struct value *message, struct pii_findings *findings);

#endif
