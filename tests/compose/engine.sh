# shellcheck shell=bash disable=SC2154 # folder and cache are run.sh's
# A Docker engine and the images the compose file needs, also where there is neither: sourced by run.sh.
# Uses $folder (for this test alone) and $cache (kept).

engine_pid=

# The engine that is there, or one of our own on its own socket and folders. Builds and bridges as any
# other; docker0 is left to whoever has it.
engine_start() {
	if docker info >/dev/null 2>&1; then
		return
	fi
	export DOCKER_HOST=unix://$folder/docker.sock
	# Bridges forward from one container to the other; what else the machine has is left alone.
	dockerd --host "$DOCKER_HOST" --data-root "$folder/docker-data" --exec-root "$folder/docker-exec" \
		--pidfile "$folder/docker.pid" --bridge none >"$folder/dockerd.log" 2>&1 &
	engine_pid=$!
	wait_for 60 "the Docker engine" docker info || {
		tail -n 20 "$folder/dockerd.log" >&2
		return 1
	}
}

engine_stop() {
	[ -n "$engine_pid" ] || return 0
	kill "$engine_pid" 2>/dev/null
	wait "$engine_pid" 2>/dev/null
	# Overlays and network namespaces outlive an engine that did not end in order.
	awk -v under="$folder/" 'index($2, under) == 1 { print $2 }' /proc/mounts | sort -r |
		while read -r mount; do umount -l "$mount"; done
}

has_image() { docker image inspect "$1" >/dev/null 2>&1; }

# Debian by debootstrap, when no registry has it for us.
debian_images() {
	local image
	for image in debian:12 debian:12-slim; do
		if has_image $image || docker pull -q $image >/dev/null 2>&1; then
			continue
		fi
		if [ ! -s "$cache/debian-12.tar" ]; then
			debootstrap --variant=minbase bookworm "$folder/debian" >"$folder/debootstrap.log" || return 1
			rm -rf "$folder/debian/var/cache/apt/archives" "$folder/debian/var/lib/apt/lists"
			tar -C "$folder/debian" -cf "$cache/debian-12.tar.new" .
			mv "$cache/debian-12.tar.new" "$cache/debian-12.tar"
		fi
		docker import "$cache/debian-12.tar" $image >/dev/null || return 1
	done
}

# Builds on the host's network: an engine without a bridge of its own has no other.
build() { DOCKER_BUILDKIT=0 docker build --network host "$@" >>"$folder/build.log" 2>&1; }

images() {
	debian_images || return 1
	has_image redis:7-bookworm || docker pull -q redis:7-bookworm >/dev/null 2>&1 ||
		build -t redis:7-bookworm -f tests/compose/redis.Dockerfile tests/compose || return 1
	build -t flotilla .
}
