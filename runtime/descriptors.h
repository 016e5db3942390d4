/* descriptors: how many files and sockets this process may have open. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include <stdint.h>

#define DESCRIPTORS_MIN 64u /* a fleet of one process each comes up with them */
#define DESCRIPTORS_ALL UINT64_MAX

/* Lifts the soft limit to wanted, as far as the hard one allows; one that is higher stays.
 * Returns NULL, or why this is too little to work with: libuv and ZeroMQ end a process that
 * gets no descriptor, and a fleet's file that cannot be opened is one that is not there. */
const char *descriptors_take(uint64_t wanted);

#endif
