/* scripted_bedrock: the words of Amazon Bedrock's Converse API, for the scripted server. Part of scripted_reply.
 *
 * As the others; blocks are those of the API ({text}, {toolUse: {toolUseId, name, input}}, {reasoningContent: ...}), usage has its
 * names, an http_error has an `error` ("ThrottlingException") for its header, a stream_error is {type: "throttlingException",
 * message}. */
#ifndef SCRIPTED_BEDROCK_H
#define SCRIPTED_BEDROCK_H

#include "value.h"

/* Keys that sign requests to the scripted server, and what they are signed for. */
#define SCRIPTED_AWS_ID "AKIDSCRIPTED"
#define SCRIPTED_AWS_SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYSCRIPTED"
#define SCRIPTED_AWS_SESSION "IQoJb3JpZ2lu/scripted+session=="
#define SCRIPTED_AWS_REGION "eu-central-1"

const char *scripted_bedrock_plain(struct arena *arena, const struct value *entry);

/* Sets *size_r: there are zeros in it. */
const char *scripted_bedrock_stream(
    struct arena *arena, const struct value *entry, size_t *size_r);

const char *scripted_bedrock_error(struct arena *arena, const char *message);

#endif
