import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { SEARCH_NODE_OPTIONS } from '#operator/processes/node-options.ts'
import { knownModel } from '#core/embedding/known-models.ts'
import { migrate } from '#core/db/schema.ts'
import { startPostgres } from '#operator/demo/local/postgres.ts'
import { testSecrets } from '#test/support/secrets.ts'
import { composeFaults, parseCompose, substitute, type Compose } from './compose-rules.ts'
import { withClient } from '#test/support/postgres.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const text = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')
const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
const password = (): string => randomBytes(24).toString('hex')
const secrets = {
  ...testSecrets(),
  KEY_ENVIRONMENT: 'live',
  POSTGRES_PASSWORD: password(),
  GATEWAY_PASSWORD: password(),
  JOBS_PASSWORD: password(),
  OPERATOR_PASSWORD: password(),
  BACKUP_PASSWORD: password(),
  MIGRATION_PASSWORD: password(),
  VALKEY_PASSWORD: password(),
}

function faultsAfter(change: (compose: Compose) => void): readonly string[] {
  const compose = parseCompose(text)
  change(compose)
  return composeFaults(compose, ROOT, secrets)
}

function service(compose: Compose, name: string): Compose['services'][string] {
  const found = compose.services[name]
  if (found === undefined) throw new Error(`there is no service ${name}`)
  return found
}

async function queryAs(url: string, sql: string): Promise<void> {
  await withClient(url, (client) => client.query(sql))
}

test('every variable, health check, dependency, port and image of docker-compose.yml is sound', () => {
  expect(faultsAfter(() => {})).toEqual([])
})

test('Postgres 18, Valkey, search nodes, gateway, proxy, jobs, a migration, the trace, an encoder, a model server and a cluster are there', () => {
  const { services } = parseCompose(text)
  expect(Object.keys(services).sort()).toEqual([
    'embeddings',
    'encoder',
    'gateway',
    'jobs',
    'migrate',
    'opensearch-1',
    'opensearch-2',
    'opensearch-3',
    'operator',
    'postgres',
    'proxy',
    'search-node',
    'trace',
    'valkey',
  ])
  expect(services['postgres']?.image).toMatch(/^postgres:18\./)
  expect(services['valkey']?.command?.join(' ')).toContain(
    '--appendonly yes --appendfsync everysec --maxmemory-policy noeviction',
  )
})

test('search nodes start with the options of Node that the demo gives them', () => {
  const compose = parseCompose(text)
  const command = ['node', ...SEARCH_NODE_OPTIONS, 'search-node/main.ts']
  expect(service(compose, 'search-node').command).toEqual(command)
})

test('a model server starts on demand, keeps its weights, and is reached by gateway and jobs alone', () => {
  const compose = parseCompose(text)
  const embeddings = service(compose, 'embeddings')
  expect(embeddings.profiles).toEqual(['embeddings'])
  expect(embeddings.image).toMatch(/^ghcr\.io\/huggingface\/text-embeddings-inference:cpu-\d+\.\d+\.\d+$/)
  expect(embeddings.volumes).toEqual(['embeddings:/data'])
  expect(embeddings.ports).toEqual([])
  expect(embeddings.healthcheck?.test.at(-1)).toBe(`http://127.0.0.1:${embeddings.environment['PORT']}/health`)
  expect(embeddings.environment['MODEL_ID']).toBe('${MODEL_ID:-intfloat/multilingual-e5-small}')
  for (const name of ['gateway', 'jobs']) {
    expect(service(compose, name).networks).toContain('backend')
    const address = '${OPENAI_BASE_URL:-${EMBEDDING:+http://encoder:8766/v1}}'
    expect(service(compose, name).environment['OPENAI_BASE_URL']).toBe(address)
  }
  expect(text).toContain(`#   OPENAI_BASE_URL=http://embeddings:${embeddings.environment['PORT']}/v1\n`)
  const shown = /^#   MODEL_ID=(.*)$/m.exec(text)?.[1]
  expect(knownModel(shown ?? '')).toBeDefined()
})

test('the encoder starts on demand, and with EMBEDDING=onnx gateway and jobs use it unless an endpoint is named', () => {
  const compose = parseCompose(text)
  const encoder = service(compose, 'encoder')
  expect(encoder.profiles).toEqual(['onnx'])
  expect(encoder.networks).toEqual(['backend'])
  expect(encoder.volumes).toEqual(['${MODELS_DIR:-./models}:/models:ro'])
  for (const name of ['gateway', 'jobs']) {
    const { OPENAI_BASE_URL: address = '', EMBEDDING = '' } = service(compose, name).environment
    expect(substitute(EMBEDDING, { EMBEDDING: 'onnx' })).toBe('onnx')
    expect(substitute(address, { EMBEDDING: 'onnx' })).toBe(
      `http://encoder:${encoder.environment['ENCODER_LISTEN']?.split(':')[1]}/v1`,
    )
    expect(substitute(address, { EMBEDDING: 'onnx', OPENAI_BASE_URL: 'http://other/v1' })).toBe('http://other/v1')
    expect(substitute(address, {})).toBe('')
  }
  expect(substitute(service(compose, 'operator').environment['EMBEDDING'] ?? '', { EMBEDDING: 'onnx' })).toBe('onnx')
})

test('nothing starts without the secrets: each is demanded, none has a default', () => {
  const names = [...new Set([...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name ?? ''))]
  const demanded = names.filter((name) => text.includes(`\${${name}:?`)).sort()
  expect(demanded).toEqual(Object.keys(secrets).sort())
  for (const name of demanded) expect.soft(text, name).not.toMatch(new RegExp(`\\$\\{${name}(?::-|\\})`))
})

describe('the test would notice', () => {
  const cases: Readonly<Record<string, readonly [change: (compose: Compose) => void, sentence: RegExp]>> = {
    'a variable that the service does not take': [
      (compose) => (service(compose, 'gateway').environment['DATABASE_URI'] = 'x'),
      /gateway sets DATABASE_URI, which gateway\/main\.ts does not take/,
    ],
    'a required variable that is missing': [
      (compose) => delete service(compose, 'jobs').environment['ARTIFACT_STORE'],
      /jobs: ARTIFACT_STORE is missing/,
    ],
    'a value that is not valid': [
      (compose) => (service(compose, 'search-node').environment['SEARCH_LISTEN'] = '7070'),
      /search-node: SEARCH_LISTEN is not valid/,
    ],
    'a secret in the file': [
      (compose) => (service(compose, 'gateway').environment['SERVICE_SECRET'] = randomBytes(32).toString('base64')),
      /gateway holds the secret SERVICE_SECRET in the file/,
    ],
    'a password in a URL in the file': [
      (compose) =>
        (service(compose, 'gateway').environment['DATABASE_URL'] =
          'postgres://evidence_gateway_login:secret@postgres:5432/evidence'),
      /gateway holds the secret DATABASE_URL/,
    ],
    'a health check that asks a port nobody listens on': [
      (compose) => (service(compose, 'gateway').environment['GATEWAY_INTERNAL_LISTEN'] = '0.0.0.0:9000'),
      /gateway: nothing listens on 8081/,
    ],
    'a health check that reads a file nobody writes': [
      (compose) => delete service(compose, 'jobs').environment['HEARTBEAT_FILE'],
      /jobs: nothing writes \/tmp\/heartbeat/,
    ],
    'a health check that runs a missing file': [
      (compose) =>
        (service(compose, 'search-node').healthcheck = {
          test: ['CMD', 'node', 'gone.ts'],
          interval: '1s',
          timeout: '1s',
        }),
      /runs gone\.ts, which does not exist/,
    ],
    'a service without a health check': [
      (compose) => delete service(compose, 'valkey').healthcheck,
      /valkey has no health check/,
    ],
    'a dependency that can never be met': [
      (compose) => (service(compose, 'gateway').depends_on['migrate'] = { condition: 'service_healthy' }),
      /gateway waits for migrate to be service_healthy, which it never is/,
    ],
    'a dependency that does not exist': [
      (compose) => (service(compose, 'gateway').depends_on['redis'] = { condition: 'service_healthy' }),
      /depends on redis, which does not exist/,
    ],
    'an address that nothing has': [
      (compose) => (service(compose, 'gateway').environment['SEARCH_NODES'] = 'search-node-3:7070'),
      /gateway names the host search-node-3, which does not exist/,
    ],
    'an image of no certain version': [
      (compose) => (service(compose, 'valkey').image = 'valkey/valkey:latest'),
      /is not pinned/,
    ],
    'a port that is open to the network': [
      (compose) => (service(compose, 'proxy').ports = ['8080:8080']),
      /proxy publishes 8080:8080/,
    ],
    ...Object.fromEntries(
      [
        { mem_limit: undefined },
        { read_only: false },
        { ulimits: { core: 1 } },
        { cap_drop: [] },
        { security_opt: [] },
      ].map((without) => [
        `a service with ${JSON.stringify(without)}`,
        [
          (compose: Compose) => Object.assign(service(compose, 'valkey'), without),
          'mem_limit' in without ? /valkey has no memory limit/ : /valkey is not contained/,
        ] as const,
      ]),
    ),
    'a database that is published': [
      (compose) => (service(compose, 'postgres').ports = ['127.0.0.1:5432:5432']),
      /postgres publishes/,
    ],
    ...Object.fromEntries(
      ['has no sources to import', 'can write to the artifacts', 'has no place for keys of reviewers'].map((fault) => [
        `an operator that ${fault}`,
        [
          (compose: Compose) => (service(compose, 'operator').volumes = ['artifacts:/var/lib/evidence']),
          new RegExp(`operator ${fault}`),
        ] as const,
      ]),
    ),
    'a job worker that opens other folders than sources': [
      (compose) => (service(compose, 'jobs').environment['SOURCE_ROOTS'] = '/var/lib/evidence'),
      /jobs does not open what its SOURCE_ROOTS names/,
    ],
    'another service that reads the keys of reviewers': [
      (compose) => service(compose, 'jobs').volumes.push('${KEYS_DIR:-./keys}:/keys'),
      /jobs mounts .*KEYS_DIR/,
    ],
    'sources that the operator may write to': [
      (compose) => (service(compose, 'operator').volumes = ['artifacts:/var/lib/evidence', './sources:/sources']),
      /operator mounts \.\/sources, which is no volume/,
    ],
    'a service that reads a folder of the machine': [
      (compose) => service(compose, 'gateway').volumes.push('${SOURCES_DIR:-./sources}:/sources:ro'),
      /gateway mounts .*SOURCES_DIR/,
    ],
    'a program that is not known': [
      (compose) => (service(compose, 'jobs').command = ['node', 'jobs/other.ts']),
      /jobs runs jobs\/other\.ts, whose variables are not known/,
    ],
  }
  test.each(Object.entries(cases))('%s', (_, [change, sentence]) => {
    expect(faultsAfter(change)).toContainEqual(expect.stringMatching(sentence))
  })
})

test(
  'the roles made when Postgres initialises are the ones that the processes log in as; one of them migrates, and ' +
    'each has the rights that the migration grants',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'evidence-compose-'))
    const postgres = await startPostgres({ folder })
    await using ending = new AsyncDisposableStack()
    ending.defer(async () => rmSync(folder, { recursive: true, force: true }))
    ending.defer(() => postgres.stop())
    const [, statements = ''] =
      /<<'SQL'\n([\s\S]*?)\nSQL\n/.exec(parseCompose(text).configs['logins']?.content ?? '') ?? []
    await postgres.createDatabase('evidence')
    await queryAs(postgres.adminUrl('evidence'), statements.replaceAll(/:'(\w+)'/g, "'password-of-$1'"))
    const login = (process: string): string =>
      `postgres://evidence_${process}_login:password-of-${process}@127.0.0.1:${postgres.port}/evidence`
    await migrate(login('migration'))
    await queryAs(login('gateway'), 'select id from reservations')
    await queryAs(login('jobs'), 'select id from builds')
    await queryAs(login('operator'), 'update organizations set active = false')
    for (const [process, statement] of [
      ['gateway', 'select id from builds'],
      ['jobs', 'select digest from api_keys'],
      ['operator', "update reservations set state = 'failed'"],
    ] as const)
      await expect(queryAs(login(process), statement)).rejects.toThrow(/permission denied/)
  },
)

describe('the image', () => {
  test('runs on the Node that the package "node" carries, and not as root', () => {
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly devDependencies: Readonly<Record<string, string>>
    }
    expect(dockerfile).toMatch(new RegExp(`^FROM node:${devDependencies['node']}-slim$`, 'm'))
    expect([...dockerfile.matchAll(/^USER (\w+)$/gm)].map(([, user]) => user)).toEqual(['node'])
  })

  test('holds every program that docker-compose.yml runs', () => {
    const copied = [...dockerfile.matchAll(/^COPY (.+) \.\/\S*$/gm)].flatMap(([, sources = '']) => sources.split(' '))
    for (const source of copied) expect.soft(existsSync(join(ROOT, source)), source).toBe(true)
    const ignore = readFileSync(join(ROOT, '.dockerignore'), 'utf8').trim().split('\n')
    expect(ignore[0]).toBe('*')
    expect(
      ignore
        .slice(1)
        .map((line) => line.slice(1))
        .sort(),
    ).toEqual([...copied].sort())
    const programs = Object.values(parseCompose(text).services).flatMap(
      ({ command = [], entrypoint = [], healthcheck }) =>
        [...command, ...entrypoint, ...(healthcheck?.test ?? [])].filter((word) => word.endsWith('.ts')),
    )
    expect(programs).not.toEqual([])
    for (const program of programs) expect.soft(copied, program).toContain(program.split('/')[0])
  })
})
