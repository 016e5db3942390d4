/* Whatever OpenAI's Responses API, or who speaks as it does, answers becomes a message or a fault. */
#include "../../worker-model/responses_stream.h"

#include "response.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	response_check(&responses_stream, data, size);
	return 0;
}
