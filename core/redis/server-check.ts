import { z } from 'zod'

/** Why a server is not used. `configuration`: an operator must act. `role`: another server is the primary. */
export interface ServerFault {
  readonly kind: 'configuration' | 'role'
  /** One sentence, or two: what is wrong and what to do. */
  readonly message: string
}

export const CLUSTER_UNSUPPORTED: ServerFault = {
  kind: 'configuration',
  message:
    'Redis Cluster is not supported: set REDIS_URL to a server with "cluster-enabled no", or to its Sentinels ' +
    '(redis-sentinel://host:26379/name-of-primary).',
}

export const NOT_PRIMARY: ServerFault = {
  kind: 'role',
  message: 'The server that REDIS_URL leads to is a replica, not the primary.',
}

const infoSchema = z.object({
  run_id: z.string().optional(),
  role: z.string().optional(),
  redis_mode: z.string().optional(),
  cluster_enabled: z.string().optional(),
  maxmemory_policy: z.string().optional(),
  master_replid: z.string().optional(),
})

/** The fields of an INFO reply that decide whether a server is used. */
export type ServerInfo = z.infer<typeof infoSchema>

/** The sections of INFO that hold them. */
export const INFO_SECTIONS = ['server', 'memory', 'replication', 'cluster'] as const

/** @param info the reply of INFO, as text or as the fields that the client has read from it. */
export function parseInfo(info: unknown): ServerInfo {
  return infoSchema.catch({}).parse(typeof info === 'string' ? infoFields(info) : info)
}

/** Returns what a reply of INFO says, by the names of its fields. */
export function infoFields(info: string): Readonly<Partial<Record<string, string>>> {
  return Object.fromEntries(
    info.split('\r\n').map((line) => [line.split(':', 1)[0] ?? '', line.slice(line.indexOf(':') + 1)]),
  )
}

/** Returns why the server must not be used; undefined for a primary that keeps every key. */
export function serverFaultOf(info: ServerInfo): ServerFault | undefined {
  if (info.redis_mode === 'sentinel')
    return {
      kind: 'configuration',
      message:
        'REDIS_URL names a Sentinel as if it were the server: write redis-sentinel://host:26379/name-of-primary.',
    }
  if (info.cluster_enabled === '1') return CLUSTER_UNSUPPORTED
  if (info.run_id === undefined || info.role === undefined)
    return {
      kind: 'configuration',
      message: 'Redis does not tell its role: allow the command INFO to the user of REDIS_URL.',
    }
  if (info.role !== 'master') return NOT_PRIMARY
  if (info.maxmemory_policy !== 'noeviction')
    return {
      kind: 'configuration',
      message:
        `Redis may evict keys (maxmemory-policy is ${info.maxmemory_policy ?? 'unknown'}): ` +
        'set "maxmemory-policy noeviction".',
    }
  return undefined
}

/**
 * Identity of the process and of the history of its data. A primary that was demoted and promoted again has another
 * one, because it may have lost writes in between.
 */
export function identityOf(info: ServerInfo): string {
  return `${info.run_id}-${info.master_replid}`
}
