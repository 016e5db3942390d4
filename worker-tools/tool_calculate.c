/* calculate: models are poor at arithmetic. */
#include "expression.h"
#include "tools.h"

static struct tool_result *
calculate(struct tool_request *request)
{
	const char *text = value_get_text(tool_args(request), "expression");
	const struct fault *fault;
	const char *value = expression_value(tool_arena(request), text, &fault);

	return value == NULL ? tool_fail(request, fault)
			     : tool_answer(request, value, "success");
}

const struct tool tool_calculate = {
	.name = "calculate",
	.description =
	    "Works out an arithmetic expression exactly and returns the number. "
	    "Operators: + - * / % ^ and parentheses; % is the remainder with the sign of "
	    "the divisor. Functions: abs, sqrt, cbrt, exp, ln, log2, log10, sin, cos, "
	    "tan, "
	    "asin, acos, atan, atan2, hypot (angles in radians), floor, ceil, trunc, "
	    "round, min, max. Constants: pi, e.",
	.parameters = "{\"type\": \"object\", \"properties\": {\"expression\": {"
		      "\"type\": \"string\", \"minLength\": 1, \"description\": "
		      "\"For example: (1299 * 3 - 15%7) / 2^3\"}}, "
		      "\"required\": [\"expression\"], \"additionalProperties\": false}",
	.run = calculate,
};
