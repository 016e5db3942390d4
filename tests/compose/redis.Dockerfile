# Stands in for redis:7-bookworm where no registry is reached: Debian's Redis, as the official image
# runs it.
FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends redis-server redis-tools \
    && install -d -o redis -g redis /data
USER redis
WORKDIR /data
VOLUME /data
CMD ["redis-server"]
