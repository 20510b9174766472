import { appendFileSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { parsePeppers } from '#core/credentials/settings.ts'
import { lastCaptures } from '#core/db/sources.ts'
import { listWithdrawals } from '#core/db/withdrawals.ts'
import { captureSource } from '#jobs/capture/pipeline.ts'
import { enqueueBuild } from '#jobs/platform/queues.ts'
import { issueKeyFor, revokeKeyNow } from '#operator/actions/api-keys.ts'
import { sourceNamed } from '#operator/actions/sources.ts'
import { restore, withdraw } from '#operator/actions/withdrawals.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { storeOf } from '#operator/demo/local/stack.ts'
import { ensureReviewer } from '#operator/demo/publish.ts'
import { grantAccess } from '#test/support/caller.ts'
import { until } from '#test/support/until.ts'
import type { Fleet } from './fleet.ts'
import type { Operation } from './schedule.ts'

/** Time within which a withdrawal and a revocation are in force on every gateway. */
export const IN_FORCE_MS = 5_000
/** For how long a passage stays withdrawn, and a revoked key is tried. */
const WATCHED_MS = 4_000
const ASK_TIMEOUT_MS = 12_000
const CAPTURES_MAX = 10_000

export interface Withdrawn {
  readonly chunk: string
  readonly fromMs: number
  /** Infinity: it was not restored. */
  readonly toMs: number
}

/** A request with a key that was revoked. */
export interface RevokedUse {
  readonly gateway: number
  /** Since the revocation was confirmed, when it was sent. */
  readonly afterMs: number
  /** 0: no reply. */
  readonly status: number
}

/** What an operator does during a run. `withdrawn` and `revoked` are what the checks judge. */
export function createOperations(fleet: Fleet, chunk: () => string) {
  const withdrawn: Withdrawn[] = []
  const revoked: RevokedUse[] = []
  let clients = 0
  let drills = 0

  async function withdrawForAWhile(): Promise<void> {
    const { operator, store, knowledgeBase } = fleet
    const key = await ensureReviewer(operator, fleet.reviewerKeyFile)
    const what = { knowledgeBase, what: chunk(), reason: `fault drill ${drills++}` }
    const failed = await withdraw(operator, store, what, [key]).catch((error: unknown) => ({ error }))
    // What follows its commit may fail, and so may the commit's reply.
    const id = await until('Postgres knows whether it is withdrawn', () => withdrawalOf(what.reason))
    if (id === 'none') throw 'error' in failed ? failed.error : new Error('the withdrawal was not kept')
    const at = withdrawn.push({ chunk: what.what, fromMs: Date.now(), toMs: Infinity }) - 1
    await sleep(IN_FORCE_MS + WATCHED_MS)
    const toMs = Date.now()
    withdrawn[at] = { chunk: what.what, fromMs: withdrawn[at]?.fromMs ?? toMs, toMs }
    // An outcome that was lost on the way shows as a restoration that exists.
    await until('the withdrawal is restored', () =>
      restore(operator, id, 'the drill is over', [key]).then(
        () => true,
        (error: unknown) => String(error).includes('restored already'),
      ),
    )
  }

  const withdrawalOf = (reason: string): Promise<string | undefined> =>
    listWithdrawals(fleet.operator.database, null, 1_000).then(
      (rows) => rows.find((row) => row.reason === reason)?.id ?? 'none',
      () => undefined,
    )

  async function captureChange(): Promise<void> {
    const { operator, store, settings, captured } = fleet
    const [file = ''] = readdirSync(captured)
    appendFileSync(join(captured, file), '\n')
    const source = await sourceNamed(operator.database, 'captured', null)
    const {
      outcome,
      message,
      build_id: build,
    } = await captureSource({ ...operator, store, roots: 'own rights' }, source)
    if (outcome === 'failed') throw new Error(message ?? outcome)
    if (build !== null) await withQueues(settings.redisUrl, (open) => enqueueBuild(open('build'), build))
  }

  async function rotateKey(): Promise<void> {
    const { operator, settings, knowledgeBase } = fleet
    const name = `rotating-${clients++}`
    const lists = { languages: ['en'], jurisdictions: ['HS-M'] }
    const { keys } = await grantAccess(operator, settings, { name, limits: {}, knowledgeBase, ...lists })
    const old = keys[0]
    if (old === undefined) throw new Error('no key was issued')
    await issueKeyFor(operator, {
      client: name,
      environment: settings.keyEnvironment,
      peppers: parsePeppers(settings.secrets.KEY_PEPPERS),
    })
    await Promise.all(fleet.baseUrls.map((baseUrl) => statusOf(baseUrl, old.key)))
    await revokeKeyNow(operator, old.id)
    const sinceMs = Date.now()
    while (Date.now() - sinceMs < IN_FORCE_MS + WATCHED_MS) {
      const afterMs = Date.now() - sinceMs
      const statuses = await Promise.all(fleet.baseUrls.map((baseUrl) => statusOf(baseUrl, old.key)))
      revoked.push(...statuses.map((status, gateway) => ({ gateway, afterMs, status })))
      await sleep(IN_FORCE_MS / 5)
    }
  }

  function statusOf(baseUrl: string, key: string): Promise<number> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ query: 'Which rules apply?', knowledge_base: fleet.knowledgeBase })
    const signal = AbortSignal.timeout(ASK_TIMEOUT_MS)
    return fetch(`${baseUrl}/v1/retrieve`, { method: 'POST', headers, body, signal }).then(
      async ({ status, body: reply }) => {
        await reply?.cancel()
        return status
      },
      () => 0,
    )
  }

  const run: Readonly<Record<Operation, () => Promise<unknown>>> = {
    publish: fleet.republish,
    withdraw: withdrawForAWhile,
    'rotate key': rotateKey,
    capture: captureChange,
  }
  return { run, withdrawn, revoked }
}

const ACTIVATIONS = `
  select version_id as "versionId", extract(epoch from finished_at)::float8 * 1000 as "atMs" from activations
  where state = 'done' order by sequence`
const UNFINISHED = `
  select 'build ' || id as job from builds where state not in ('succeeded', 'failed')
  union all select 'activation ' || id from activations where state = 'queued'`
const POINTERS = 'select version_id as "versionId" from active_versions'

const activations = z.array(z.object({ versionId: z.string(), atMs: z.number() }))

/** A build that failed is repeated after a pause. */
const WORK_ENDS_MS = 180_000

/**
 * What the operator's work has left, once every build and activation has ended or can be waited for no more. An
 * interrupted run says nothing of what has not ended.
 */
export async function endedWork(fleet: Pick<Fleet, 'owner'>, signal: AbortSignal) {
  const sinceMs = Date.now()
  for (;;) {
    const work = await readWork(fleet)
    if (signal.aborted) return { ...work, unfinished: [] }
    if (work.unfinished.length === 0 || Date.now() - sinceMs > WORK_ENDS_MS) return work
    await sleep(IN_FORCE_MS / 5)
  }
}

/** Files of good captures: how many there are, and those that whoever has no copy yet does not get from the store. */
export async function readCaptures({ operator, settings }: Pick<Fleet, 'operator' | 'settings'>) {
  const environment = { ...settings.environment, ARTIFACT_CACHE: join(settings.folder, 'copies', 'reader') }
  const store = storeOf({ ...settings, environment })
  const { id } = await sourceNamed(operator.database, 'captured', null)
  const good = (await lastCaptures(operator.database, id, CAPTURES_MAX)).filter(({ outcome }) => outcome !== 'failed')
  const kept = [...new Set(good.flatMap(({ files }) => files?.map(({ sha256 }) => sha256) ?? []))]
  const lost: string[] = []
  for (const sha256 of kept)
    if (!existsSync(await store.fetch(store.snapshotFile(sha256)).catch(() => ''))) lost.push(sha256)
  return { kept, lost }
}

async function readWork({ owner }: Pick<Fleet, 'owner'>) {
  const [done, unfinished, pointers] = [
    await owner.query(ACTIVATIONS),
    await owner.query(UNFINISHED),
    await owner.query(POINTERS),
  ]
  return {
    activations: activations.parse(done.rows),
    unfinished: z
      .array(z.object({ job: z.string() }))
      .parse(unfinished.rows)
      .map(({ job }) => job),
    active: z
      .array(z.object({ versionId: z.string() }))
      .parse(pointers.rows)
      .map(({ versionId }) => versionId),
  }
}
