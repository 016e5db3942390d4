/* expression_private: numbers and functions, for expression*.c alone. What fails is said in the parser, and gives 0. */
#ifndef EXPRESSION_PRIVATE_H
#define EXPRESSION_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "expression.h"

#define ARGUMENTS_MAX 16u

struct number {
	bool is_whole;
	int64_t whole;
	double real; /* also of a whole one */
};

/* A text while it is worked out, by recursive descent. */
struct parser {
	struct arena *arena;
	const char *text;
	const char *at;
	unsigned depth;
	const struct fault *fault; /* the first; then everything is 0 */
};

struct number expression_whole(int64_t whole);

/* at: where in the text. */
struct number expression_fail(
    struct parser *parser, const char *at, const char *type, const char *reason);
struct number expression_real(struct parser *parser, const char *at, double real);

/* expression_functions.c: the one of that name, or NULL after saying so; its value of count numbers. */
struct function;
const struct function *expression_function(
    struct parser *parser, const char *at, const char *name);
struct number expression_call(struct parser *parser, const char *at,
    const struct function *function, const struct number *numbers, size_t count);

#endif
