#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

/* Interface under test */
#include "../../worker-tools/address.h"

TCase *tcase_address(void);

static bool
is_public(const char *text, char shown[ADDRESS_TEXT_BYTES])
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	const struct sockaddr *address = (struct sockaddr *)&in;

	if (strchr(text, ':') != NULL) {
		address = (struct sockaddr *)&in6;
		ck_assert_int_eq(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
	} else {
		ck_assert_int_eq(inet_pton(AF_INET, text, &in.sin_addr), 1);
	}
	address_text(address, shown);
	return address_is_public(address);
}

static const char *const private[] = { "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255",
	"100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
	"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1",
	"192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.7",
	"203.0.113.9", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
	"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.1.2.3",
	"64:ff9b::a00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:1::1", "2001:db8::1",
	"2002:7f00:1::1", "2002:a00:1::1", "3fff::1", "5f00::1", "fc00::1",
	"fd12:3456::1", "fe80::1", "fec0::1", "ff02::1" };

START_TEST(is_not_public)
{
	char shown[ADDRESS_TEXT_BYTES];

	ck_assert_msg(!is_public(private[_i], shown), "%s", private[_i]);
	ck_assert_uint_gt(strlen(shown), 0);
}
END_TEST

static const char *const public[] = { "1.1.1.1", "9.255.255.255", "11.0.0.1",
	"100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1", "169.253.0.1",
	"172.15.0.1", "172.32.0.1", "192.0.1.1", "192.167.0.1", "192.169.0.1",
	"198.17.0.1", "198.20.0.1", "223.255.255.255", "::ffff:1.1.1.1",
	"64:ff9b::101:101", "2001:200::1", "2001:4860:4860::8888", "2002:101:101::1",
	"2606:4700::1111", "3ffe::1" };

START_TEST(is_reached_by_everybody)
{
	char shown[ADDRESS_TEXT_BYTES];

	ck_assert_msg(is_public(public[_i], shown), "%s", public[_i]);
}
END_TEST

START_TEST(what_is_no_ip_address_is_not_public)
{
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	char shown[ADDRESS_TEXT_BYTES];

	ck_assert(!address_is_public((struct sockaddr *)&local));
	address_text((struct sockaddr *)&local, shown);
	ck_assert_str_eq(shown, "an address of family 1");
}
END_TEST

TCase *
tcase_address(void)
{
	TCase *tcase = tcase_create("address");

	tcase_add_loop_test(tcase, is_not_public, 0, sizeof private / sizeof private[0]);
	tcase_add_loop_test(
	    tcase, is_reached_by_everybody, 0, sizeof public / sizeof public[0]);
	tcase_add_test(tcase, what_is_no_ip_address_is_not_public);
	return tcase;
}
