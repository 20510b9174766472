import { z } from 'zod'
import type { Variable } from '#core/platform/config.ts'

export interface RedisAddress {
  readonly host: string
  readonly port: number
}

interface Login {
  readonly username: string | undefined
  readonly password: string | undefined
}

/** What REDIS_URL names: one server, or the Sentinels that know which server is the primary. */
export interface RedisTarget extends Login {
  readonly database: number
  /** TLS to the servers and to the Sentinels. */
  readonly tls: boolean
  readonly servers:
    | { readonly kind: 'single'; readonly address: RedisAddress }
    | {
        readonly kind: 'sentinel'
        readonly sentinels: readonly RedisAddress[]
        readonly primaryName: string
        /** Login at the Sentinels; the login of the URL itself is for the servers. */
        readonly login: Login
      }
}

const SHAPE = /^redis(s?)(-sentinel)?:\/\/(?:([^/?#\s]*)@)?([^@/?#\s]+)(?:\/([^?#\s]*))?(?:\?([^#\s]*))?$/i
const ADDRESS = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i
const DATABASE = /^\d{1,5}$/
const PRIMARY_NAME = /^[a-z0-9._-]+$/i
const SENTINEL_PARAMETERS = ['sentinel_username', 'sentinel_password']
const REDIS_PORT = 6_379
const SENTINEL_PORT = 26_379
const HIGHEST_PORT = 65_535

function parse(text: string): RedisTarget | undefined {
  const [matched, secure = '', sentinel, user = '', hosts = '', path = '', query = ''] = SHAPE.exec(text) ?? []
  if (matched === undefined) return undefined
  const login = parseLogin(...splitLogin(user))
  if (login === undefined) return undefined
  const tls = secure !== ''
  const servers = sentinel === undefined ? parseSingle(hosts, path, query) : parseSentinel(hosts, path, query)
  return servers && { ...login, tls, ...servers }
}

type Servers = Pick<RedisTarget, 'database' | 'servers'>

function parseSingle(hosts: string, path: string, query: string): Servers | undefined {
  const address = parseAddress(hosts, REDIS_PORT)
  const database = parseDatabase(path)
  if (address === undefined || database === undefined || query !== '') return undefined
  return { database, servers: { kind: 'single', address } }
}

function parseSentinel(hosts: string, path: string, query: string): Servers | undefined {
  const sentinels = hosts.split(',').flatMap((host) => parseAddress(host, SENTINEL_PORT) ?? [])
  const [primaryName = '', databaseText = '', ...more] = path.split('/')
  const database = parseDatabase(databaseText)
  const parameters = new URLSearchParams(query)
  const sentinelLogin = parseLogin(parameters.get('sentinel_username'), parameters.get('sentinel_password'))
  if (sentinels.length !== hosts.split(',').length || !PRIMARY_NAME.test(primaryName)) return undefined
  if (database === undefined || more.length > 0 || sentinelLogin === undefined) return undefined
  if ([...parameters.keys()].some((name) => !SENTINEL_PARAMETERS.includes(name))) return undefined
  return { database, servers: { kind: 'sentinel', sentinels, primaryName, login: sentinelLogin } }
}

function parseAddress(text: string, defaultPort: number): RedisAddress | undefined {
  const [matched, host = '', portText] = ADDRESS.exec(text) ?? []
  const port = portText === undefined ? defaultPort : Number(portText)
  if (matched === undefined || port < 1 || port > HIGHEST_PORT) return undefined
  return { host: host.replace(/^\[|\]$/g, ''), port }
}

function parseDatabase(text: string): number | undefined {
  if (text === '') return 0
  return DATABASE.test(text) ? Number(text) : undefined
}

function splitLogin(text: string): [username: string | null, password: string | null] {
  const colon = text.indexOf(':')
  try {
    return colon === -1
      ? [decodeURIComponent(text), null]
      : [decodeURIComponent(text.slice(0, colon)), decodeURIComponent(text.slice(colon + 1))]
  } catch {
    return ['a percent sign that encodes nothing', null]
  }
}

/** @returns undefined for a user name without a password. */
function parseLogin(username: string | null, password: string | null): Login | undefined {
  const login = { username: username || undefined, password: password || undefined }
  return login.username !== undefined && login.password === undefined ? undefined : login
}

/** @throws Error for a text that `REDIS_URL` refuses. The message does not repeat it. */
export function parseRedisUrl(text: string): RedisTarget {
  const target = parse(text)
  if (target === undefined) throw new Error(`the URL of Redis is not valid; needed is ${REDIS_URL.help}`)
  return target
}

export const REDIS_URL = {
  schema: z.string().refine((text) => parse(text) !== undefined),
  help:
    'the URL of Redis 7 or Valkey 8, e.g. redis://host:6379, or of its Sentinels, e.g. ' +
    'redis-sentinel://host-1:26379,host-2:26379/name-of-primary (rediss: and rediss-sentinel: use TLS); the ' +
    'maxmemory-policy of every server must be noeviction',
  secret: true,
} as const satisfies Variable<string>
