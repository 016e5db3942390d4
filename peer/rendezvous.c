#include "rendezvous.h"

#include <stddef.h>

static uint64_t
hash_text(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; text != NULL && *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

/* Every bit of the answer depends on every bit of word (the finisher of MurmurHash3). */
static uint64_t
mix(uint64_t word)
{
	word = (word ^ word >> 33) * UINT64_C(0xff51afd7ed558ccd);
	word = (word ^ word >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return word ^ word >> 33;
}

uint64_t
rendezvous_identity(const char *endpoint)
{
	return mix(hash_text(endpoint));
}

uint32_t
rendezvous_choose(const uint64_t *identities, link_set usable, const char *run)
{
	uint64_t key = hash_text(run), rank, best = 0;
	uint32_t link, chosen = LINK_NONE;

	for (link = 0; usable >> link != 0; link++) {
		if ((usable & LINK_BIT(link)) == 0)
			continue;
		rank = mix(key ^ identities[link]);
		if (chosen == LINK_NONE || rank > best) {
			chosen = link;
			best = rank;
		}
	}
	return chosen;
}
