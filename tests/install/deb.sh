#!/bin/sh
# The Debian packages on a Debian that has nothing else: installed, used, upgraded, purged. `make deb-test`.
#
#   tests/install/deb.sh PACKAGES CACHE     CACHE: where a bare Debian is kept (or made, as in tests/compose)
#
# Needs root (chroot) and Debian's packages.
set -eu
packages=$(cd "$1" && pwd)
mkdir -p "$2"
cache=$(cd "$2" && pwd)
folder=$(mktemp -d /tmp/flotilla-deb.XXXXXX)
root=$folder/root
passed=0 failed=0

tear_down() {
	! mountpoint -q "$root/proc" || umount "$root/proc"
	! mountpoint -q "$root/dev" || umount -l "$root/dev"
	rm -rf --one-file-system "$folder"
}
trap tear_down EXIT
trap 'exit 1' INT TERM

inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
# check WHAT COMMAND...
check() {
	what=$1
	shift
	if "$@" >"$folder/said" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED: $what"
		tail -n 20 "$folder/said"
	fi
}
says() { [ "$(inside "$@" 2>&1)" = "$words" ]; }
expect() {
	words=$1
	shift
	check "$*" says "$@"
}

if [ ! -s "$cache/debian-12.tar" ]; then
	dpkg-query -W debootstrap >/dev/null 2>&1 ||
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq debootstrap >/dev/null; }
	debootstrap --variant=minbase bookworm "$folder/debian" >"$folder/debootstrap.log"
	rm -rf "$folder/debian/var/cache/apt/archives" "$folder/debian/var/lib/apt/lists"
	tar -C "$folder/debian" -cf "$cache/debian-12.tar.new" .
	mv "$cache/debian-12.tar.new" "$cache/debian-12.tar"
	rm -rf "$folder/debian"
fi
mkdir "$root"
tar -C "$root" -xf "$cache/debian-12.tar"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
# The same servers, by the same way, as this machine has them.
rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d"
for one in sources.list sources.list.d apt.conf.d keyrings trusted.gpg.d preferences.d auth.conf.d; do
	[ ! -e "/etc/apt/$one" ] || cp -a "/etc/apt/$one" "$root/etc/apt/"
done
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp -a /etc/ssl/certs "$root/etc/ssl/" 2>/dev/null || :
cp -a /usr/share/keyrings "$root/usr/share/" 2>/dev/null || :
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
cp "$packages"/flotilla_*.deb "$packages"/flotilla-dev_*.deb "$root/tmp/"

check "apt-get update" inside apt-get update -qq
check "the packages are installed, with what they need" inside sh -c \
	'apt-get install -y -qq --no-install-recommends /tmp/flotilla_*.deb'
version=$(sed -n 's/^#define FLOTILLA_VERSION "\(.*\)".*/\1/p' runtime/settings.h)
for program in broker coordinator hub worker-model worker-tools; do
	expect "flotilla-$program $version" "flotilla-$program" --version
done
expect "flotilla $version" flotilla --version
expect 600 sh -c 'stat -c %a /etc/flotilla/*.env | sort -u'
expect 700 stat -c %a /etc/flotilla

check "what the demonstration needs is installed" inside apt-get install -y -qq --no-install-recommends redis-server systemd man-db
check "the demonstration, of the installed programs and examples" \
	inside sh -c 'cd /tmp && sh /usr/share/flotilla/examples/demo.sh /usr/bin /tmp/demo'
check "systemd takes the units" inside sh -c 'systemd-analyze verify --recursive-errors=no /lib/systemd/system/flotilla*.service'
expect disabled sh -c 'systemctl --root=/ is-enabled flotilla-broker.service'
# shellcheck disable=SC2016 # for the shell in there
check "manual pages" inside sh -c 'for p in flotilla flotilla-broker flotilla-worker-tools; do man -w $p; done'
# shellcheck disable=SC2016
check "a middleware is built against flotilla-dev" inside sh -c 'apt-get install -y -qq --no-install-recommends /tmp/flotilla-dev_*.deb gcc pkg-config &&
	cc -std=c11 -D_DEFAULT_SOURCE -fPIC -shared $(pkg-config --cflags flotilla) -o /tmp/greet.so /usr/share/flotilla/examples/plugin/template.c &&
	printf "name: a\nmodel: m:x\nmiddleware: [greet: {name: Ada}]\n" >/tmp/agent.yaml && flotilla graph /tmp/agent.yaml --plugin /tmp/greet.so'
# What its operator wrote stays when the package is put there again, and goes when it is purged.
inside sh -c 'echo FLOTILLA_LOG_LEVEL=debug >>/etc/flotilla/fleet.env'
check "the package once more" inside sh -c 'dpkg --force-confdef -i /tmp/flotilla_*.deb'
expect FLOTILLA_LOG_LEVEL=debug tail -n 1 /etc/flotilla/fleet.env
check "purged" inside sh -c 'dpkg -P flotilla && ! test -e /etc/flotilla && ! test -e /usr/bin/flotilla'
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
