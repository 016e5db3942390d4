# One image for every program of the fleet; the command says which one runs.
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc make pkg-config libc6-dev \
    libczmq-dev libzmq3-dev libmsgpack-dev libhiredis-dev libcurl4-openssl-dev libuv1-dev \
    libyajl-dev libfyaml-dev libsystemd-dev libpcre2-dev
COPY . /source
WORKDIR /source
RUN make -j2 binaries && make install PREFIX=/opt/flotilla DESTDIR=/image DEBIAN=

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libczmq4 libzmq5 \
    libmsgpackc2 libhiredis0.14 libcurl4 libuv1 libyajl2 libfyaml0 libsystemd0 libpcre2-8-0 \
    && rm -rf /var/lib/apt/lists/* && useradd --system --create-home flotilla \
    && install -d -o flotilla /workspace
COPY --from=build /image/opt/flotilla /opt/flotilla
ENV PATH=/opt/flotilla/bin:$PATH
USER flotilla
WORKDIR /home/flotilla
