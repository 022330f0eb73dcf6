# The service as an image. The base needs Node 24 or newer: docker build --build-arg BASE=my-registry/node:24 -t sluice .
# `npm run pin-base` pins it to the digest that its tag has now, here and in compose.yaml.
ARG BASE=node:24-slim

FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# What the packages' own scripts would bring is for tests only.
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm run site && npm run --silent sbom > sbom.cdx.json && npm prune --omit=dev --ignore-scripts

FROM ${BASE}
WORKDIR /app
LABEL org.opencontainers.image.title=Sluice \
      org.opencontainers.image.description="Self-hosted serverless job endpoints" \
      org.opencontainers.image.licenses=Apache-2.0
COPY --from=build /app/package.json /app/sbom.cdx.json /app/LICENSE ./
COPY --from=build /app/bin bin
COPY --from=build /app/dist dist
COPY --from=build /app/node_modules node_modules
# The image can be `adapterImage` of an endpoint.
RUN ln -s /app/bin/sluice-http.js /usr/local/bin/sluice-http
# Each container gets a folder of its own: two servers never share one.
RUN mkdir -m 700 /data && chown 1000:1000 /data
VOLUME /data
USER 1000:1000
# Runs with a read-only root file system: only /data is written.
ENV SLUICE_HOST=0.0.0.0 SLUICE_STORE=sqlite:/data/sluice.db SLUICE_DATA_DIR=/data
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SLUICE_PORT || 8080}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/sluice.js"]
CMD ["serve"]
