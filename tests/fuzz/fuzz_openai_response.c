/* Whatever OpenAI, or one of the many who speak as it does, answers becomes a message or a fault. */
#include "../../worker-model/openai_stream.h"

#include "response.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	response_check(&openai_stream, data, size);
	return 0;
}
