/* certificates: what TLS wants, made by openssl for one test. */
#ifndef CERTIFICATES_H
#define CERTIFICATES_H

/* Makes, each with a key NAME.key beside it:
 *
 *	ca.pem      who signs
 *	server.pem  by ca, for 127.0.0.1 and localhost
 *	other.pem   by ca, for other.test
 *	client.pem  by ca
 *	stranger.pem  signed by itself, for 127.0.0.1
 */
void certificates_make(const char *folder);

#endif
