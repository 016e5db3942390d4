/* address: which network addresses a tool may open on behalf of a model. */
#ifndef ADDRESS_H
#define ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#define ADDRESS_TEXT_BYTES 64u

/* True when address is out on the internet. Not so: loopback, private, shared, link-local
 * (where clouds keep their credentials), multicast, reserved and documentation ranges of
 * IPv4 and IPv6 (the IANA special-purpose registries), and IPv6 addresses that carry such
 * an IPv4 address inside; anything that is no IP address. */
bool address_is_public(const struct sockaddr *address);

/* Writes address for people. */
void address_text(const struct sockaddr *address, char text[ADDRESS_TEXT_BYTES]);

#endif
