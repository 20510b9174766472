# One image for every process; docker-compose.yml sets the command of each.
FROM node:24.21.0-slim

ENV NODE_ENV=production
WORKDIR /app

COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && npm cache clean --force

COPY LICENSE ./
COPY proto ./proto
COPY core ./core
COPY gateway ./gateway
COPY search-node ./search-node
COPY law ./law
COPY jobs ./jobs
COPY operator ./operator

# The commit of the image, as "operator status" and the metrics name it.
ARG COMMIT=
RUN printf %s "$COMMIT" > COMMIT

# A named volume inherits the owner of the folder that it is mounted on. SOURCE_ROOTS of jobs names /sources.
RUN mkdir -p /sources /var/lib/evidence/snapshots /var/lib/trace && chown -R node:node /var/lib/evidence /var/lib/trace
VOLUME /var/lib/evidence /var/lib/trace

USER node
CMD ["node", "gateway/main.ts"]
