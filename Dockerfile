# One image for every process; docker-compose.yml names what each runs.
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
COPY jobs ./jobs

# A named volume takes its owner from the folder that it is mounted over.
RUN mkdir -p /var/lib/evidence && chown node:node /var/lib/evidence
VOLUME /var/lib/evidence

USER node
CMD ["node", "gateway/main.ts"]
