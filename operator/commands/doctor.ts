import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import type { Redis } from 'ioredis'
import { unwrapFingerprintKey } from '#core/credentials/fingerprint.ts'
import {
  activeDigests,
  excessiveRights,
  newestFingerprintKeys,
  peppersInUse,
  readDatabaseServer,
} from '#core/db/doctor.ts'
import type { Queryable } from '#core/db/pool.ts'
import { readSignedManifest } from '#core/index/format/manifest.ts'
import { openArtifactStore, type ArtifactStore } from '#core/index/format/store.ts'
import { STORE_SETTINGS } from '#core/index/settings.ts'
import { hostAndPort, type ConfigOf } from '#core/platform/config.ts'
import { limitsCoreDumps } from '#core/platform/core-dumps.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { addressesOf } from '#core/rpc/settings.ts'
import { openPrimaryDiscovery } from '#core/redis/primary-discovery.ts'
import { infoFields } from '#core/redis/server-check.ts'
import { isSilent, readStatuses } from '#core/redis/status-board.ts'
import { parseRedisUrl } from '#core/redis/url.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { OPERATOR_BOUNDS } from '#operator/actions/operator.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { table } from '#operator/command-line/table.ts'
import { verb } from '#operator/command-line/verbs.ts'

const VARIABLES = {
  REDIS_URL: OPERATOR_VARIABLES.REDIS_URL,
  ...STORE_SETTINGS,
  MANIFEST_PUBLIC_KEY: OPERATOR_VARIABLES.MANIFEST_PUBLIC_KEY,
  KEY_PEPPERS: OPERATOR_VARIABLES.KEY_PEPPERS,
  SERVICE_SECRET: OPERATOR_VARIABLES.SERVICE_SECRET,
  SEARCH_NODES: OPERATOR_VARIABLES.SEARCH_NODES,
  SEARCH_TLS_CA: OPERATOR_VARIABLES.SEARCH_TLS_CA,
  SEARCH_TLS_CERT: OPERATOR_VARIABLES.SEARCH_TLS_CERT,
  SEARCH_TLS_KEY: OPERATOR_VARIABLES.SEARCH_TLS_KEY,
} as const

/** Versions that the tests of this release run on. */
const TESTED = { postgres: [18], redis: [7, 8], valkey: [8] } as const
const FREE_SHARE_MIN = 0.1
const TLS_TIMEOUT_MS = 3_000

interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'fault'
  readonly found: string
  /** What to do; empty where nothing is. */
  readonly todo: string
}

type Config = ConfigOf<typeof VARIABLES>

export const commands: Commands = [
  verb('doctor', 'check the installation from outside in, and say what to do about each finding', {
    notes:
      'It changes nothing, but for a file that it writes to the store and removes. A fault ends it with 1.\n' +
      'SEARCH_NODES with SEARCH_TLS_CA, SEARCH_TLS_CERT and SEARCH_TLS_KEY has the names in certificates checked.',
    variables: VARIABLES,
    async run(_input, { database, config, show }) {
      const findings = (
        await Promise.all([
          databaseFindings(database),
          redisFindings(config.REDIS_URL),
          sentinelFindings(config.REDIS_URL),
          storeFindings(database, config),
          secretFindings(database, config),
          tlsFindings(config),
        ])
      )
        .flat()
        .concat(dumps('this process', limitsCoreDumps()))
      const faults = findings.filter(({ state }) => state === 'fault').length
      show(findings, () => table(findings, 'check state found todo=what_to_do'))
      if (faults > 0) throw new OperatorError(`${faults} of ${findings.length} checks found a fault.`)
      return undefined
    },
  }),
]

/** What a check found: `well` where it holds, else `ill` and what to do. */
function finding(
  check: string,
  holds: boolean,
  well: string,
  ill: string,
  todo: string,
  otherwise: 'fault' | 'warning' = 'fault',
): Finding {
  return holds ? { check, state: 'ok', found: well, todo: '' } : { check, state: otherwise, found: ill, todo }
}

function dumps(who: string, limited: boolean): Finding {
  const [well, ill] = [`${who} leaves none`, `${who} may leave one, with its keys and queries`]
  return finding('core dumps', limited, well, ill, 'set LimitCORE=0, or ulimit -c 0', 'warning')
}

function versionFinding(check: keyof typeof TESTED, version: string): Finding {
  const tested: readonly number[] = TESTED[check]
  const found = `version ${version}`
  const todo = `use version ${tested.join(' or ')}, which this release is tested with`
  return finding(check, tested.includes(Number.parseInt(version, 10)), found, found, todo, 'warning')
}

async function databaseFindings(database: Queryable): Promise<readonly Finding[]> {
  const { version, durable } = await readDatabaseServer(database)
  const settings = 'set fsync, full_page_writes and synchronous_commit to on'
  const rights = await excessiveRights(database)
  const well = 'no role has more than its own'
  return [
    versionFinding('postgres', version),
    finding('postgres durability', durable, 'what is committed is on disk', 'a crash loses commits', settings),
    ...(rights.length === 0 ? [''] : rights).map((right) =>
      finding('grants', right === '', well, right, 'revoke it: each process has a login with one role'),
    ),
  ]
}

async function redisFindings(url: string): Promise<readonly Finding[]> {
  try {
    return await withQueues(url, async (_open, redis) => [
      ...serverFindings(await redis.info(), parseRedisUrl(url).servers.kind === 'sentinel'),
      ...(await processFindings(redis)),
    ])
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return [finding('redis', false, '', error.message, 'correct REDIS_URL or the configuration of the server')]
  }
}

/** Of a server that is the primary and evicts nothing: no other is connected. */
function serverFindings(info: string, isReplicated: boolean): readonly Finding[] {
  const fields = infoFields(info)
  const field = (name: string): string => fields[name] ?? ''
  const valkey = field('valkey_version')
  const [used, max] = [Number(field('used_memory')), Number(field('maxmemory'))]
  const persists = field('aof_enabled') === '1' && field('aof_last_write_status') === 'ok'
  const lost = 'a restart loses jobs and counters'
  const isRoomy = max === 0 || used < max * (1 - FREE_SHARE_MIN)
  return [
    finding('redis policy', true, 'the primary, and it evicts nothing', '', ''),
    valkey === '' ? versionFinding('redis', field('redis_version')) : versionFinding('valkey', valkey),
    finding('redis persistence', persists, 'it writes its file', lost, 'set "appendonly yes", and give its disk space'),
    ...(isReplicated ? [replicaFinding(field('min_slaves_good_slaves'))] : []),
    finding('redis memory', isRoomy, 'there is room', `${used} of ${max} bytes are used`, 'raise maxmemory'),
  ]
}

/** @param near replicas that follow closely; the server says it only where it needs some to write. */
function replicaFinding(near: string): Finding {
  const [state, ill] =
    near === ''
      ? (['warning', 'min-replicas-to-write is 0: a primary that is cut off takes writes that are lost'] as const)
      : (['fault', 'no replica follows closely, so that writes are refused'] as const)
  const todo = 'run two replicas, and set "min-replicas-to-write 1" on every server'
  return finding('redis replicas', Number(near) > 0, `${near} follow closely`, ill, todo, state)
}

/** @returns nothing where REDIS_URL names no Sentinels. */
async function sentinelFindings(url: string): Promise<readonly Finding[]> {
  const sentinels = openPrimaryDiscovery(parseRedisUrl(url))
  const asked = await sentinels.asked().finally(() => sentinels.close())
  if (asked.length === 0) return []
  const said = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const known = Math.max(0, ...said.map((one) => one.sentinels))
  const quorum = Math.max(0, ...said.map((one) => one.quorum))
  const needed = Math.max(1, quorum, Math.floor(known / 2) + 1)
  const primaries = [...new Set(said.map(({ address: { host, port } }) => `${host}:${port}`))]
  const found = `${said.length} of ${asked.length} in REDIS_URL answer; the quorum is ${quorum} of ${known}`
  const isWhole = said.length === asked.length && asked.length >= known && known > 2 && quorum <= known
  const todo = 'start the silent ones, name all in REDIS_URL, and run three or more with their majority as the quorum'
  const named = primaries.join(' and ') || 'none'
  return [
    finding('sentinels', isWhole, found, found, todo, said.length < needed || quorum > known ? 'fault' : 'warning'),
    finding('sentinel primary', primaries.length === 1, named, named, 'correct the name, or see which is cut off'),
  ]
}

async function processFindings(redis: Redis): Promise<readonly Finding[]> {
  const statuses = await readStatuses(redis)
  const releases = [...new Set(statuses.map(({ release, commit }) => `${release} ${commit}`.trim()))]
  const reporting = (name: string, words: string): Finding => {
    const reports = statuses.some(({ process }) => process === name)
    return finding('processes', reports, `a ${words} reports`, `no ${words} reports`, 'start it', 'warning')
  }
  return [
    reporting('gateway', 'gateway'),
    reporting('jobs', 'job worker'),
    finding('releases', releases.length < 2, 'one runs', releases.join(' and '), 'deploy one everywhere', 'warning'),
    ...statuses.flatMap((one) => [
      finding('processes', !isSilent(one), `${one.id} reports`, `${one.id} is silent`, 'see its log', 'warning'),
      finding('clocks', one.clock === undefined, `${one.id} agrees`, `${one.id}: ${one.clock}`, 'set the clock'),
      dumps(one.id, !one.core_dumps),
    ]),
  ]
}

async function storeFindings(database: Queryable, config: Config): Promise<readonly Finding[]> {
  const store = openArtifactStore(config)
  const findings = [await writable(store)]
  for (const { id, knowledge_base: base, manifest_digest: digest } of await activeDigests(database)) {
    const ill = await store
      .fetchManifest(store.artifactFolder(id))
      .then((folder) => readSignedManifest(folder, config.MANIFEST_PUBLIC_KEY, digest))
      .then(
        () => undefined,
        (error: unknown) => (error instanceof Error ? error.message : 'the artifact cannot be read'),
      )
    const todo = `restore the files of version ${id}, or add the key that signed it to MANIFEST_PUBLIC_KEY`
    findings.push(finding('store digests', ill === undefined, `${base}: they hold`, `${base}: ${ill}`, todo))
  }
  return findings
}

async function writable(store: ArtifactStore): Promise<Finding> {
  const path = store.incomingFile(`doctor-${randomUUID()}`)
  const code = await store
    .probe()
    .then(() => writeFile(path, '', { flag: 'wx' }))
    .then(() => rm(path))
    .catch((error: NodeJS.ErrnoException) => error.code ?? error.message)
  const ill = `snapshots cannot be written (${String(code)})`
  return finding(
    'store',
    code === undefined,
    'snapshots can be written',
    ill,
    'mount it, and let the operator write there',
  )
}

async function secretFindings(database: Queryable, config: Config): Promise<readonly Finding[]> {
  const names = new Set(config.KEY_PEPPERS.map(({ name }) => name))
  const lost = (await peppersInUse(database)).filter(({ pepper }) => !names.has(pepper))
  const wrapped = await newestFingerprintKeys(database, OPERATOR_BOUNDS.operatorRowsMax)
  const unopened = wrapped.filter(({ wrapped: key, organization_id: organizationId, epoch }) => {
    try {
      unwrapFingerprintKey(key, { organizationId, epoch }, config.SERVICE_SECRET)
      return false
    } catch {
      return true
    }
  })
  const lacks = `KEY_PEPPERS lacks ${lost.map(({ pepper, keys }) => `${pepper} of ${keys} keys`).join(' and ')}`
  const closed = `it does not open those of ${unopened.map(({ name }) => name).join(', ')}`
  const rewrap = 'add the earlier secret behind a comma, then run "operator fingerprints rewrap"'
  return [
    finding('peppers', lost.length === 0, 'KEY_PEPPERS has all', lacks, 'add that pepper, or rotate those keys'),
    finding('service secret', unopened.length === 0, 'it opens all fingerprint keys', closed, rewrap),
  ]
}

/** @returns nothing where the tier has no TLS, or its variables are not given. */
async function tlsFindings(config: Config): Promise<readonly Finding[]> {
  const { SEARCH_NODES: nodes, SEARCH_TLS_CA, SEARCH_TLS_CERT, SEARCH_TLS_KEY } = config
  const paths = [SEARCH_TLS_CA, SEARCH_TLS_CERT, SEARCH_TLS_KEY].filter((path) => path !== undefined)
  if (nodes === undefined || paths.length < 3) return []
  const [ca, cert, key] = paths.map((path) => readFileSync(path))
  return Promise.all(
    addressesOf(nodes).map(async (node) => {
      const { host, port } = hostAndPort(node)
      const servername = isIP(host) === 0 ? host : ''
      const socket = connect({ host, port, servername, ca, cert, key, ALPNProtocols: ['h2'] })
      socket.on('error', () => undefined)
      const signal = AbortSignal.timeout(TLS_TIMEOUT_MS)
      const ill = await once(socket, 'secureConnect', { signal }).then(
        () => undefined,
        (error: NodeJS.ErrnoException) => error.code ?? error.message,
      )
      const well = `${node}: the name holds, until ${socket.getPeerCertificate().valid_to}`
      socket.destroy()
      const todo = 'give the node a certificate of this authority with its name'
      return finding('tls', ill === undefined, well, `${node}: ${ill}`, todo)
    }),
  )
}
