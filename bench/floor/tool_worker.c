#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "floor.h"

#define ANSWER_BYTES_MAX 256
#define CALL_BYTES_MAX 1024

/* Of "a op b": enough for the one expression that is asked for. */
static double
worked_out(const char *expression)
{
	char *behind;
	double left = strtod(expression, &behind), right;
	char operator= behind[strspn(behind, " ")];

	right = strtod(behind + strspn(behind, " ") + 1, NULL);
	switch (operator) {
	case '*':
		return left * right;
	case '/':
		return left / right;
	case '+':
		return left + right;
	case '-':
		return left - right;
	default:
		errx(EXIT_FAILURE, "no such expression: %s", expression);
	}
}

/* Returns where the value of the string begins that stands behind key, quotes apart. */
static const char *
behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	if (at == NULL)
		errx(EXIT_FAILURE, "no %s in %s", key, text);
	at += strlen(key);
	return at + strspn(at, "\\\": ");
}

static void
answer(void *socket, const char *message, size_t size)
{
	struct floor_envelope envelope;
	char call[CALL_BYTES_MAX + 1], text[ANSWER_BYTES_MAX];
	const char *id;

	memcpy(&envelope, message, sizeof envelope);
	size -= sizeof envelope;
	memcpy(call, message + sizeof envelope, size);
	call[size] = '\0';
	id = behind(call, "\"id\"");
	snprintf(text, sizeof text,
	    "{\"role\":\"tool\",\"tool_call_id\":\"%.*s\",\"content\":\"%g\"}",
	    (int)strcspn(id, "\""), id, worked_out(behind(call, "expression")));
	envelope.kind = FLOOR_RESULT;
	floor_send(socket, &envelope, text, strlen(text));
}

int
floor_tool_worker(const char *endpoint)
{
	void *socket = floor_dealer(endpoint, "tool");
	char message[sizeof(struct floor_envelope) + CALL_BYTES_MAX];

	floor_hello(socket, FLOOR_TOOLS);
	for (;;) {
		int size = zmq_recv(socket, message, sizeof message, 0);

		if (size < (int)sizeof(struct floor_envelope) ||
		    size > (int)sizeof message)
			errx(EXIT_FAILURE, "recv: %d bytes", size);
		answer(socket, message, (size_t)size);
	}
}
