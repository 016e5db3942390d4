#include "kit_tls.h"

#include <check.h>
#include <sys/stat.h>

#include "certificates.h"
#include "test_place.h"

const char *
kit_have_tls(struct fleet_kit *kit, struct arena *arena)
{
	const char *const files[][2] = { { "--tls-cert-file", "tls/server.pem" },
		{ "--tls-key-file", "tls/server.key" },
		{ "--tls-ca-cert-file", "tls/ca.pem" } };
	const char *port = place_port(arena);
	size_t i;

	ck_assert_int_eq(mkdir(kit_path(kit, "tls"), 0700), 0);
	certificates_make(kit_path(kit, "tls"));
	kit_flag(kit, KIT_REDIS, "--tls-port", port);
	for (i = 0; i < sizeof files / sizeof files[0]; i++)
		kit_flag(kit, KIT_REDIS, files[i][0], kit_path(kit, files[i][1]));
	return port;
}

const char *
kit_tls_url(
    struct fleet_kit *kit, struct arena *arena, const char *port, const char *user)
{
	return arena_printf(arena,
	    "rediss://%slocalhost:%s?ssl_ca_certs=%s&ssl_certfile=%s&ssl_keyfile=%s",
	    user, port, kit_path(kit, "tls/ca.pem"), kit_path(kit, "tls/client.pem"),
	    kit_path(kit, "tls/client.key"));
}
