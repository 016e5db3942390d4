/* keys_acl: users for Redis with the least rights that their work needs. */
#ifndef KEYS_ACL_H
#define KEYS_ACL_H

/* Prints an ACL file with new passwords on stdout, and how to use it on stderr. */
void keys_acl_print(void);

/* The rights for what the library does ("+fcall +time ..."), which those who call it have. */
const char *keys_acl_functions(void);

#endif
