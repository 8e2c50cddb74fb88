# The image has what npm publishes, on Node alone: no shell, no package manager, no npm. It runs as a user without rights,
# also if its root file system is read-only. To build it from a clone: docker build -t headgate .
#
#   docker run --rm ghcr.io/headgate/headgate --help
#   docker run --rm -v "$PWD:/etc/headgate:ro" ghcr.io/headgate/headgate check policies.yaml

ARG NODE_VERSION=24.21.0
# glibc, libstdc++, CA certificates and time zones. It has no dated tags: the provenance of a release names its digest.
# Node 26 also needs libatomic, which is not in it.
ARG BASE_IMAGE=gcr.io/distroless/cc-debian13:nonroot

FROM node:${NODE_VERSION}-bookworm-slim AS node

# The package is the same for all platforms, so it is built once, without emulation.
FROM --platform=$BUILDPLATFORM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm pack --pack-destination /tmp \
 && mkdir -p /opt/headgate \
 && tar -xzf /tmp/headgate-*.tgz -C /opt/headgate --strip-components=1 \
 && cp package-lock.json /opt/headgate
# The dependencies have the versions of the lock file. OpenTelemetry, which is optional in the package, is among them.
RUN node tools/image/add-tracing.ts /opt/headgate \
 && cd /opt/headgate \
 && npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && node /src/tools/image/slim.ts /opt/headgate

FROM ${BASE_IMAGE}
ARG BASE_IMAGE
ARG VERSION=0.2.0
ARG REVISION=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.title="headgate" \
      org.opencontainers.image.description="Rate limits for the requests that Envoy, NGINX, Traefik and other proxies forward" \
      org.opencontainers.image.source="https://github.com/headgate/headgate" \
      org.opencontainers.image.url="https://github.com/headgate/headgate" \
      org.opencontainers.image.documentation="https://github.com/headgate/headgate/tree/v${VERSION}/docs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}"
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/LICENSE /usr/share/doc/node/LICENSE
COPY --from=build /opt/headgate /opt/headgate
COPY --chmod=755 deploy/image/headgate /usr/local/bin/headgate
# Manifests for envoyproxy/ratelimit run this.
COPY --chmod=755 deploy/image/ratelimit /bin/ratelimit
# Mount your own file in place of this one, or a folder that has it.
COPY --chmod=644 config/policies.yaml /etc/headgate/policies.yaml
ENV NODE_ENV=production \
    HEADGATE_HOST=0.0.0.0 \
    HEADGATE_POLICIES=/etc/headgate/policies.yaml
WORKDIR /etc/headgate
# `nonroot` of the base image. A number, so that Kubernetes can see that it is not root.
USER 65532:65532
# Checks over HTTP and gRPC. Operators and Prometheus (9464) are answered on loopback, until HEADGATE_OPS_HOST is set.
EXPOSE 8080 8081 9464
# Passes once proxies are answered, so that what depends on it can start.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["headgate", "healthcheck", "--ready"]
ENTRYPOINT ["headgate"]
CMD ["serve"]
