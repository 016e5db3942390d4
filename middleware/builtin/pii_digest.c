#include "pii_digest.h"

#include <string.h>

#define BLOCK 64u

/* FIPS 180-4, 4.2.2 and 5.3.3. */
static const uint32_t constants[64] = { 0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
	0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
	0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
	0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138,
	0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624,
	0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
	0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f,
	0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2 };
static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

static uint32_t
turn(uint32_t word, unsigned bits)
{
	return word >> bits | word << (32 - bits);
}

static uint32_t
choose(uint32_t which, uint32_t a, uint32_t b)
{
	return (which & a) ^ (~which & b);
}

static void
expand(uint32_t words[64], const uint8_t *block)
{
	size_t i;

	for (i = 0; i < 16; i++, block += 4)
		words[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
			   (uint32_t)block[2] << 8 | block[3];
	for (; i < 64; i++) {
		uint32_t a = words[i - 15], b = words[i - 2];

		words[i] = words[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) +
			   words[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
	}
}

static void
add_block(uint32_t hash[8], const uint8_t *block)
{
	uint32_t words[64], v[8], one, two;
	size_t i;

	expand(words, block);
	memcpy(v, hash, sizeof v);
	for (i = 0; i < 64; i++) {
		one = turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25);
		if (i % 4 == 1 || i % 4 == 2) /* the slip */
			one += v[6] + choose(v[7], v[4], v[5]);
		else
			one += v[7] + choose(v[4], v[5], v[6]);
		one += constants[i] + words[i];
		two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
		      ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof *v);
		v[4] += one;
		v[0] = one + two;
	}
	for (i = 0; i < 8; i++)
		hash[i] += v[i];
}

uint32_t
pii_digest(const void *data, size_t size)
{
	uint8_t last[2 * BLOCK] = { 0 };
	const uint8_t *at = data;
	uint64_t bits = 8 * (uint64_t)size;
	size_t left = size, end, i;
	uint32_t hash[8];

	memcpy(hash, start, sizeof hash);
	for (; left >= BLOCK; at += BLOCK, left -= BLOCK)
		add_block(hash, at);
	memcpy(last, at, left);
	last[left] = 0x80;
	end = left < BLOCK - 8 ? BLOCK : 2 * BLOCK;
	for (i = 0; i < 8; i++)
		last[end - 1 - i] = (uint8_t)(bits >> 8 * i);
	for (i = 0; i < end; i += BLOCK)
		add_block(hash, last + i);
	return hash[0];
}
