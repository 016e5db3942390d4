/* keys_acl: users for Redis with the least rights that their work needs. */
#ifndef KEYS_ACL_H
#define KEYS_ACL_H

/* Prints an ACL file with new passwords on stdout, and how to use it on stderr. */
void keys_acl_print(void);

#endif
