# Built for Node 24, the newest long-term line; the image carries no development dependency and no shell tools of ours.
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json tsconfig.json tsconfig.build.json ./
RUN npm ci --ignore-scripts
COPY src ./src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production \
    HEADGATE_HOST=0.0.0.0
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY lua ./lua
COPY web ./web
COPY config ./config
# What `headgate proxy-config` prints is made of these.
COPY deploy ./deploy
USER node
EXPOSE 8080 8081 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["node", "dist/main.js", "healthcheck"]
CMD ["node", "--enable-source-maps", "dist/main.js", "serve"]
