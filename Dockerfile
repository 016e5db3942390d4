# One image for every program of the fleet; the command says which one runs.
#
#   docker build -t flotilla .
#
# The first stage compiles, the second has what runs: the programs, the libraries they need, a shell
# for tools. It runs without rights on a root that may be read-only: /workspace, where tools work, and
# /tmp are all that is written.
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc make pkg-config libc6-dev \
    libczmq-dev libzmq3-dev libhiredis-dev libcurl4-openssl-dev libuv1-dev \
    libyajl-dev libyaml-dev libsystemd-dev libpcre2-dev liblua5.4-dev libsodium-dev \
    libmicrohttpd-dev libssl-dev zlib1g-dev
WORKDIR /source
COPY . .
RUN make -j2 install PREFIX=/opt/flotilla DESTDIR=/image

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libczmq4 libzmq5 \
    libhiredis0.14 libcurl4 libuv1 libyajl2 libyaml-0-2 libsystemd0 libpcre2-8-0 liblua5.4-0 libsodium23 \
    libmicrohttpd12 libssl3 zlib1g libglib2.0-0 tzdata tini \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log \
    && useradd --system --uid 970 --home-dir /nonexistent --shell /usr/sbin/nologin flotilla \
    && install -d -o flotilla /workspace
COPY --from=build /image/opt/flotilla /opt/flotilla
ENV PATH=/opt/flotilla/bin:$PATH
USER flotilla
WORKDIR /workspace
# Collects what children of tools leave behind; SIGTERM, a drain, goes to the program alone.
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["flotilla", "--help"]
