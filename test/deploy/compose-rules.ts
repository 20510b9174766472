import { join } from 'node:path'
import { Script } from 'node:vm'
import { existsSync } from 'node:fs'
import { z } from 'zod'
import { parse } from 'yaml'
import { ConfigError, readConfig, type Variables } from '#core/platform/config.ts'
import { GATEWAY_VARIABLES } from '#gateway/config.ts'
import { ENCODER_MALLOC } from '#operator/processes/node-options.ts'
import { ENCODER_VARIABLES } from '#jobs/encoder/config.ts'
import { JOBS_VARIABLES, MIGRATE_VARIABLES, OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { TRACE_VARIABLES } from '#jobs/trace/config.ts'
import { SEARCH_NODE_VARIABLES } from '#search-node/config.ts'

/** The parts of a compose file that the rules look at. */
const commandSchema = z.array(z.string()).min(1)

/** A variable without a value is passed on where it is set. */
const variableSchema = z
  .string()
  .nullable()
  .transform((value) => value ?? '')

const serviceSchema = z.object({
  image: z.string(),
  profiles: z.array(z.string()).default([]),
  command: commandSchema.optional(),
  entrypoint: commandSchema.optional(),
  environment: z.record(z.string(), variableSchema).default({}),
  ports: z.array(z.string()).default([]),
  networks: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  restart: z.string().optional(),
  mem_limit: z.string().optional(),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  read_only: z.boolean().default(false),
  ulimits: z.object({ core: z.int() }).optional(),
  healthcheck: z.object({ test: commandSchema, interval: z.string(), timeout: z.string() }).optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
})

const composeSchema = z.object({
  services: z.record(z.string(), serviceSchema),
  volumes: z.record(z.string(), z.unknown()),
  networks: z.record(z.string(), z.unknown()),
  configs: z.record(z.string(), z.object({ content: z.string() })),
})
type Service = z.infer<typeof serviceSchema>
export type Compose = z.infer<typeof composeSchema>

export function parseCompose(text: string): Compose {
  return composeSchema.parse(parse(text, { merge: true }))
}

/** Which variables each program of this project takes. */
const PROGRAMS: Readonly<Record<string, Variables>> = {
  'gateway/main.ts': GATEWAY_VARIABLES,
  'search-node/main.ts': SEARCH_NODE_VARIABLES,
  'jobs/worker/main.ts': JOBS_VARIABLES,
  'operator/main.ts migrate': MIGRATE_VARIABLES,
  'operator/main.ts': OPERATOR_VARIABLES,
  'jobs/encoder/main.ts': ENCODER_VARIABLES,
  'jobs/trace/main.ts': TRACE_VARIABLES,
}

/** Health commands of the programs that are not this project's. */
const FOREIGN_HEALTH: Readonly<Record<string, string>> = {
  postgres: 'pg_isready',
  valkey: 'valkey-cli',
  proxy: 'wget',
  embeddings: 'curl',
  'opensearch-1': 'curl',
  'opensearch-2': 'curl',
  'opensearch-3': 'curl',
}

/** Read by the C library of the image, before any program of the project begins. */
const C_LIBRARY_VARIABLES = Object.keys(ENCODER_MALLOC)

function programOf(service: Service): string | undefined {
  const [node, ...rest] = service.entrypoint ?? service.command ?? []
  return node === 'node' ? rest.slice(rest.findIndex((word) => !word.startsWith('-'))).join(' ') : undefined
}

/**
 * `${NAME}`, `${NAME:?message}`, `${NAME:-default}` and `${NAME:+other}`, as compose replaces them, one within another;
 * `$$` is a dollar sign.
 */
export function substitute(text: string, given: Readonly<Record<string, string>>): string {
  return text.replaceAll(
    /\$\$|\$\{(\w+)(?::([?+-])((?:[^{}]|\{[^{}]*\})*))?\}/g,
    (whole, name: string | undefined, kind: string | undefined, rest = '') => {
      if (name === undefined) return '$'
      const value = given[name] === '' ? undefined : given[name]
      if (kind === '+') return value === undefined ? '' : substitute(String(rest), given)
      if (value !== undefined) return value
      return kind === '-' ? substitute(String(rest), given) : whole
    },
  )
}

function environmentFaults(
  name: string,
  service: Service,
  secrets: Readonly<Record<string, string>>,
): readonly string[] {
  const program = programOf(service)
  if (program === undefined) return []
  const variables = PROGRAMS[program]
  if (variables === undefined) return [`${name} runs ${program}, whose variables are not known`]
  const unknown = Object.keys(service.environment).filter(
    (variable) => variables[variable] === undefined && !C_LIBRARY_VARIABLES.includes(variable),
  )
  const openly = Object.entries(service.environment).filter(
    ([variable, value]) => variables[variable]?.secret === true && isOpen(value),
  )
  return [
    ...unknown.map((variable) => `${name} sets ${variable}, which ${program} does not take`),
    ...openly.map(([variable]) => `${name} holds the secret ${variable} in the file`),
    ...configurationFaults(name, variables, service, secrets),
  ]
}

/** A secret may only come from outside; a URL without a password is none. */
function isOpen(value: string): boolean {
  const literal = value.replaceAll(/\$\{[^}]*\}/g, '')
  return literal.includes('://') ? /:\/\/[^/@]*:[^/@]+@/.test(literal) : literal !== ''
}

function configurationFaults(
  name: string,
  variables: Variables,
  service: Service,
  secrets: Readonly<Record<string, string>>,
): readonly string[] {
  const environment = Object.fromEntries(
    Object.entries(service.environment).map(([variable, value]) => [variable, substitute(value, secrets)]),
  )
  try {
    readConfig(variables, environment)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message
      .split('\n')
      .slice(1)
      .map((line) => `${name}: ${line.trim()}`)
  }
}

function healthFaults(root: string, name: string, service: Service): readonly string[] {
  if (service.restart === 'no')
    return service.healthcheck === undefined ? [] : [`${name} ends by itself, yet has a health check`]
  if (service.healthcheck === undefined) return [`${name} has no health check`]
  const [kind, program, ...args] = service.healthcheck.test
  if (kind !== 'CMD') return [`${name}: the health check must be a CMD, which needs no shell`]
  if (program !== 'node')
    return FOREIGN_HEALTH[name] === program
      ? []
      : [`${name}: nothing is known of ${program}, which its health check runs`]
  const [first = '', second = ''] = args
  const source = first === '-e' ? second : args.join(' ')
  return [
    ...(first === '-e' ? syntaxFaults(name, source) : fileFaults(root, name, first)),
    ...addressFaults(name, service, source),
  ]
}

function syntaxFaults(name: string, source: string): readonly string[] {
  try {
    void new Script(source)
    return []
  } catch (error) {
    return [`${name}: the health check is not JavaScript: ${String(error)}`]
  }
}

function fileFaults(root: string, name: string, file: string): readonly string[] {
  return existsSync(join(root, file)) ? [] : [`${name}: the health check runs ${file}, which does not exist`]
}

/** A port or file that a health check names must be one that the service was told to use. */
function addressFaults(name: string, service: Service, source: string): readonly string[] {
  const values = Object.values(service.environment)
  const ports = [...source.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => port)
  const files = [...source.matchAll(/'(\/tmp\/[^']+)'/g)].map(([, file]) => file)
  return [
    ...ports
      .filter((port) => !values.some((value) => value === `0.0.0.0:${port}`))
      .map((port) => `${name}: nothing listens on ${port}, which the health check asks`),
    ...files
      .filter((file) => !values.some((value) => value === file))
      .map((file) => `${name}: nothing writes ${file}, which the health check reads`),
  ]
}

function dependencyFaults(compose: Compose, name: string, service: Service): readonly string[] {
  return Object.entries(service.depends_on).flatMap(([target, { condition }]) => {
    const dependency = compose.services[target]
    if (dependency === undefined) return [`${name} depends on ${target}, which does not exist`]
    if (condition === 'service_healthy' && dependency.healthcheck !== undefined) return []
    if (condition === 'service_completed_successfully' && dependency.restart === 'no') return []
    return [`${name} waits for ${target} to be ${condition}, which it never is`]
  })
}

/** Every service that an address in the environment names is there, on a network both share, and is waited for. */
function addresseeFaults(compose: Compose, name: string, service: Service): readonly string[] {
  const hosts = Object.values(service.environment).flatMap((value) =>
    [...value.matchAll(/(?:@|\/\/|,|^)([a-z][a-z0-9-]*):\d{2,5}\b/g)].map(([, host]) => host ?? ''),
  )
  const waits = reachable(compose, name)
  return hosts.flatMap((host) => {
    const target = compose.services[host]
    if (target === undefined) return [`${name} names the host ${host}, which does not exist`]
    if (!target.networks.some((network) => service.networks.includes(network)))
      return [`${name} and ${host} share no network`]
    return waits.has(host) ? [] : [`${name} does not wait for ${host}`]
  })
}

function reachable(compose: Compose, name: string, seen: Set<string> = new Set()): ReadonlySet<string> {
  for (const target of Object.keys(compose.services[name]?.depends_on ?? {}))
    if (!seen.has(target)) reachable(compose, target, seen.add(target))
  return seen
}

/** Folders of the machine: sources for operator and jobs, keys of reviewers, backups, and the models of the encoder. */
const SOURCES = '${SOURCES_DIR:-./sources}:/sources:ro'
const KEYS = '${KEYS_DIR:-./keys}:/keys'
const BACKUPS = '${BACKUPS_DIR:-./backups}:/backups'
const ARTIFACTS_TO_READ = 'artifacts:/var/lib/evidence:ro'
const MODELS = '${MODELS_DIR:-./models}:/models:ro'
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  operator: [SOURCES, KEYS, BACKUPS],
  jobs: [SOURCES],
  encoder: [MODELS],
}

/** What callers reach. A gateway publishes no port, so that there may be several. */
const PUBLIC: readonly string[] = ['proxy', 'trace']
const LOOPBACK = /^(?:\$\{TLS_LISTEN:-)?127\.0\.0\.1:/

/** Images that need more than the services of this project; only "backend" reaches them, and they are optional. */
const PRIVILEGED = /^(?:opensearch-\d|embeddings)$/

function privilegeFaults(name: string, service: Service): readonly string[] {
  const { mem_limit, cap_drop, security_opt, read_only, ulimits } = service
  const isKept = read_only && ulimits?.core === 0
  const isContained = cap_drop.includes('ALL') && security_opt.includes('no-new-privileges:true') && isKept
  return [
    ...(mem_limit === undefined ? [`${name} has no memory limit`] : []),
    ...(isContained || PRIVILEGED.test(name) ? [] : [`${name} is not contained`]),
  ]
}

function hostFaults(compose: Compose, name: string, service: Service): readonly string[] {
  const volumes = service.volumes
    .filter((volume) => FOLDERS[name]?.includes(volume) !== true)
    .map((volume) => volume.split(':')[0] ?? '')
  return [
    ...(name !== 'operator' || service.volumes.includes(SOURCES) ? [] : [`${name} has no sources to import`]),
    ...(service.volumes.includes(SOURCES) === (service.environment['SOURCE_ROOTS'] === '/sources')
      ? []
      : [`${name} does not open what its SOURCE_ROOTS names`]),
    ...(name !== 'operator' || service.volumes.includes(ARTIFACTS_TO_READ)
      ? []
      : [`${name} can write to the artifacts`]),
    ...(name !== 'operator' || service.volumes.includes(KEYS) ? [] : [`${name} has no place for keys of reviewers`]),
    ...(/:(?:cpu-)?\d+\.\d+/.test(service.image)
      ? []
      : [`${name}: the image ${service.image} is not pinned to a version`]),
    ...service.ports
      .filter((port) => !PUBLIC.includes(name) || !LOOPBACK.test(port))
      .map((port) => `${name} publishes ${port}`),
    ...volumes
      .filter((volume) => !(volume in compose.volumes))
      .map((volume) => `${name} mounts ${volume}, which is no volume`),
    ...service.networks
      .filter((network) => !(network in compose.networks))
      .map((network) => `${name} joins ${network}, which is no network`),
    ...(service.networks.length === 0 ? [`${name} joins the default network, which is not internal`] : []),
  ]
}

/** One sentence for everything that would keep the file from working as it should. */
export function composeFaults(
  compose: Compose,
  root: string,
  secrets: Readonly<Record<string, string>>,
): readonly string[] {
  return Object.entries(compose.services).flatMap(([name, service]) => [
    ...hostFaults(compose, name, service),
    ...privilegeFaults(name, service),
    ...environmentFaults(name, service, secrets),
    ...healthFaults(root, name, service),
    ...dependencyFaults(compose, name, service),
    ...addresseeFaults(compose, name, service),
  ])
}
