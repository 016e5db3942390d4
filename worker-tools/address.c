#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct range4 {
	uint32_t base;
	unsigned bits;
};

struct range6 {
	uint8_t base[4]; /* enough for all of them */
	unsigned bits;
};

#define IPV4(a, b, c, d)                                                                 \
	((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

static const struct range4 special4[] = {
	{ IPV4(0, 0, 0, 0), 8 },       /* this network */
	{ IPV4(10, 0, 0, 0), 8 },      /* private */
	{ IPV4(100, 64, 0, 0), 10 },   /* shared by carriers */
	{ IPV4(127, 0, 0, 0), 8 },     /* loopback */
	{ IPV4(169, 254, 0, 0), 16 },  /* link-local */
	{ IPV4(172, 16, 0, 0), 12 },   /* private */
	{ IPV4(192, 0, 0, 0), 24 },    /* protocol assignments */
	{ IPV4(192, 0, 2, 0), 24 },    /* documentation */
	{ IPV4(192, 88, 99, 0), 24 },  /* 6to4 relays */
	{ IPV4(192, 168, 0, 0), 16 },  /* private */
	{ IPV4(198, 18, 0, 0), 15 },   /* benchmarks */
	{ IPV4(198, 51, 100, 0), 24 }, /* documentation */
	{ IPV4(203, 0, 113, 0), 24 },  /* documentation */
	{ IPV4(224, 0, 0, 0), 3 },     /* multicast, reserved, broadcast */
};

/* Within 2000::/3, outside of which nothing is public. */
static const struct range6 special6[] = {
	{ { 0x20, 0x01, 0x00, 0x00 }, 23 }, /* protocol assignments, Teredo */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32 }, /* documentation */
	{ { 0x3f, 0xff, 0x00, 0x00 }, 20 }, /* documentation */
};

static bool
is_public4(uint32_t address)
{
	size_t i;

	for (i = 0; i < sizeof special4 / sizeof special4[0]; i++)
		if ((address ^ special4[i].base) >> (32 - special4[i].bits) == 0)
			return false;
	return true;
}

static uint32_t
read_uint32(const uint8_t *bytes)
{
	return IPV4(bytes[0], bytes[1], bytes[2], bytes[3]);
}

/* Finds the IPv4 address to which a packet for the IPv6 one goes in the end. */
static bool
carried_address(const uint8_t bytes[16], uint32_t *address_r)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const uint8_t nat64[12] = { 0x00, 0x64, 0xff, 0x9b };

	if (memcmp(bytes, mapped, 12) == 0 || memcmp(bytes, nat64, 12) == 0)
		*address_r = read_uint32(bytes + 12);
	else if (bytes[0] == 0x20 && bytes[1] == 0x02) /* 6to4 */
		*address_r = read_uint32(bytes + 2);
	else
		return false;
	return true;
}

static bool
is_public6(const uint8_t bytes[16])
{
	uint32_t carried, start = read_uint32(bytes);
	size_t i;

	if (carried_address(bytes, &carried))
		return is_public4(carried);
	if (bytes[0] >> 5 != 1)
		return false;
	for (i = 0; i < sizeof special6 / sizeof special6[0]; i++)
		if ((start ^ read_uint32(special6[i].base)) >> (32 - special6[i].bits) ==
		    0)
			return false;
	return true;
}

bool
address_is_public(const struct sockaddr *address)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	switch (address->sa_family) {
	case AF_INET:
		memcpy(&in, address, sizeof in);
		return is_public4(ntohl(in.sin_addr.s_addr));
	case AF_INET6:
		memcpy(&in6, address, sizeof in6);
		return is_public6(in6.sin6_addr.s6_addr);
	default:
		return false;
	}
}

void
address_text(const struct sockaddr *address, char text[ADDRESS_TEXT_BYTES])
{
	const void *bytes =
	    address->sa_family == AF_INET
		? (const void *)&((const struct sockaddr_in *)(const void *)address)
		      ->sin_addr
		: &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;

	if ((address->sa_family != AF_INET && address->sa_family != AF_INET6) ||
	    inet_ntop(address->sa_family, bytes, text, ADDRESS_TEXT_BYTES) == NULL)
		snprintf(text, ADDRESS_TEXT_BYTES, "an address of family %d",
		    address->sa_family);
}
