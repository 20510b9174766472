import pLimit from 'p-limit'
import { randomUUID } from 'node:crypto'
import { appendLedgerEntries, ledgerEntriesDue } from '#core/db/ledger.ts'
import type { ServedPassage } from '#core/domain/exposure.ts'
import { admit, type Admission, type Candidate } from '#core/limits/admission.ts'
import { rebuildCounters } from '#core/limits/rebuild.ts'
import { failedOutcome, type Charge } from '#core/limits/settlement.ts'
import { createLog } from '#core/platform/log.ts'
import { sweep } from '#jobs/worker/maintenance/sweep.ts'
import { check, checkCaps, checkCounters, checkLedger, holderOf, isOpen, known } from './checks.ts'
import type { ModelGateway } from './gateway.ts'
import { predict, type Doubt } from './oracle.ts'
import { createOrganization, type ModelEntitlement, type Servers } from './servers.ts'
import { NO_REPLAY, createCandidate } from '#test/support/limits.ts'
import { withRedis } from '#test/support/redis.ts'

const LEASE_MS = 20_000
const DOCUMENTS = 3
const DOCUMENT_PASSAGES = 10
const CORPUS = { passages: DOCUMENTS * DOCUMENT_PASSAGES, longestWindowDays: 30 }

/** A request that a gateway holds and will settle. */
export interface InFlight {
  readonly gateway: number
  readonly charge: Charge
}

/** The steps of a rebuild at which a gateway may end, in their order. */
export const REBUILD_STEPS = ['retire', 'requests', 'passages', 'enforce'] as const
export type RebuildStep = (typeof REBUILD_STEPS)[number]

export type Sequence = Awaited<ReturnType<typeof startSequence>>

/** One organization, what its requests did, and what is checked after every step. */
export async function startSequence(servers: Servers) {
  const entitlements = await createOrganization(servers.owner)
  const organizationId = entitlements[0]?.scope.organizationId ?? ''
  const doubts: Doubt[] = []
  const inFlight: InFlight[] = []
  let offsetMs = 0
  await servers.setClock(0)

  const gatewayOf = (index: number): ModelGateway => at(servers.gateways, index)
  const now = (): Promise<number> => gatewayOf(0).counters.nowMs()
  const take = (request: InFlight): void => void inFlight.splice(inFlight.indexOf(request), 1)
  async function setClock(ms: number): Promise<void> {
    offsetMs = ms
    await servers.setClock(ms)
  }
  async function doubt(kind: Doubt['kind'], id: string): Promise<void> {
    const request = (await known(servers, organizationId)).find((one) => one.id === id)
    if (request !== undefined) doubts.push({ ...request, kind })
  }

  async function admitChecked(gateway: number, entitlement: number, key: number | undefined): Promise<void> {
    const held = at(entitlements, entitlement)
    const candidate = candidateOf(held, key)
    const before = await known(servers, organizationId)
    const admission = await admit(gatewayOf(gateway), candidate, (_, work) => work)
    if (admission.status === 'admitted') inFlight.push({ gateway, charge: admission.charge })
    const { nowMs } = admission.decision
    const original = await holderOf(servers, candidate)
    if (isConflict(admission)) {
      check(original === admission.refusal.original.id, 'a conflict names a request that Postgres holds')
      return
    }
    if (admission.status === 'refused')
      check(original === undefined || !admission.decision.mayLookUp, 'a request on record wins over a limit')
    const predicted: ReadonlySet<string> = predict(nowMs, held.scope.entitlementId, held.limits, before, doubts, CORPUS)
    const said = admission.status === 'admitted' ? 'admitted' : admission.refusal.reason
    check(
      [...predicted].some((one) => one === said),
      `predicted ${[...predicted].join(' or ')}, but it was ${said}`,
    )
  }

  async function repair(gateway: number): Promise<void> {
    const { epochs } = gatewayOf(gateway)
    const epoch = await epochs.current(organizationId, 1)
    await epochs.repair(organizationId, { epoch, windowDays: 1, overdue: true })
  }

  return {
    inFlight,
    admit: admitChecked,
    /** Several at once on both gateways, with the same key or none, or during a rebuild. Only the caps are checked. */
    async burst(count: number, entitlement: number, key: number | undefined, rebuilding: boolean) {
      const held = at(entitlements, entitlement)
      const rebuilt = rebuilding ? repair(1) : Promise.resolve()
      const results = await Promise.all(
        Array.from({ length: count }, async (_, index) => {
          const gateway = index % servers.gateways.length
          return { gateway, admission: await admit(gatewayOf(gateway), candidateOf(held, key), (__, work) => work) }
        }),
      )
      for (const { gateway, admission } of results)
        if (admission.status === 'admitted') inFlight.push({ gateway, charge: admission.charge })
      await rebuilt
      const admitted = results.filter(({ admission }) => admission.status === 'admitted').length
      if (key !== undefined) check(admitted <= 1, 'one of several requests with the same key is admitted')
      await checkCaps(servers, entitlements, organizationId, await now())
    },
    async deliver(request: InFlight, passages: readonly number[]) {
      take(request)
      const outcome = { ...failedOutcome(null, 5, null), decision: 'answer' as const }
      const { settlement } = gatewayOf(request.gateway)
      const overdue = !(await isOpen(servers, request.charge.requestId))
      const delivered = await settlement.deliver(
        request.charge,
        { outcome, served: servedOf(passages), replay: NO_REPLAY },
        5_000,
      )
      check(delivered !== overdue, 'an open request is delivered, and no other')
    },
    async fail(request: InFlight) {
      take(request)
      await gatewayOf(request.gateway).settlement.refund(
        request.charge,
        failedOutcome('RETRIEVAL_UNAVAILABLE', 5, null),
      )
    },
    async hangUp(request: InFlight) {
      take(request)
      await gatewayOf(request.gateway).settlement.abandon(request.charge, failedOutcome(null, 5, null))
    },
    /** The gateway ends at a step of a request. */
    async crashAfterCharge(gateway: number, entitlement: number, key: number | undefined) {
      const held = at(entitlements, entitlement)
      const { epochs, counters } = gatewayOf(gateway)
      const epoch = await epochs.current(organizationId, held.limits.exposure.window_days)
      const requestId = randomUUID()
      const idempotencyDigest = candidateOf(held, key).idempotencyDigests[0]
      const request = {
        requestId,
        limits: held.limits,
        corpusPassages: CORPUS.passages,
        // What is served alone counts here.
        topK: 0,
        exposureAllowance: 0,
        idempotencyDigest,
      }
      const { status, nowMs } = await counters.admit(held.scope, epoch.id, request)
      const { entitlementId } = held.scope
      if (status === 'admitted')
        doubts.push({
          kind: 'charge',
          id: requestId,
          entitlementId,
          admittedAtMs: nowMs,
          deadlineAtMs: nowMs + LEASE_MS,
        })
    },
    crashBeforeSettlement: take,
    async crashAfterRecord(request: InFlight, passages: readonly number[]) {
      take(request)
      const { reservations } = gatewayOf(request.gateway)
      await doubt('settlement', request.charge.requestId)
      const outcome = { ...failedOutcome(null, 5, null), decision: 'answer' as const }
      const id = request.charge.requestId
      await reservations.recordDelivered({
        id,
        outcome,
        served: servedOf(passages),
        replay: NO_REPLAY,
        withinMs: 60_000,
      })
    },
    async crashAfterRefund(request: InFlight) {
      take(request)
      await doubt('settlement', request.charge.requestId)
      await servers.owner.query(
        `update reservations set state = 'refunded', finished_at = clock_timestamp(), outcome = '{}'
         where id = $1 and state = 'open'`,
        [request.charge.requestId],
      )
    },
    async loseRedis() {
      await withRedis(servers.primary().url, (client) => client.flushall())
      await setClock(offsetMs)
    },
    async restartRedis() {
      await servers.primary().kill()
      const refused = await admit(gatewayOf(0), candidateOf(at(entitlements, 0), undefined), (_, work) => work).then(
        () => false,
        () => true,
      )
      await servers.primary().restart()
      await setClock(offsetMs)
      await Promise.all(servers.gateways.map((gateway) => gateway.usable()))
      check(refused, 'nothing is admitted while Redis is away')
    },
    async failOver() {
      await servers.failOver()
      await setClock(offsetMs)
    },
    pass: (ms: number) => setClock(offsetMs + ms),
    async toNextDay() {
      const date = new Date(await now())
      await setClock(offsetMs + Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + 1) - +date)
    },
    async toNextMonth() {
      const date = new Date(await now())
      await setClock(offsetMs + Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) - +date)
    },
    rebuild: repair,
    /** The gateway ends in the middle of a rebuild. */
    async crashInRebuild(gateway: number, step: RebuildStep) {
      const { counters, rebuilds, settlement, epochs } = gatewayOf(gateway)
      const crash = async (): Promise<never> => Promise.reject(new Error('the gateway ends'))
      const ending =
        step === 'retire'
          ? { ...counters, retire: (id: string) => counters.retire(id).then(crash) }
          : { ...counters, installer: { ...counters.installer, [step]: crash } }
      const log = createLog('model', 'silent')
      const fault = { epoch: await epochs.current(organizationId, 1), windowDays: 1, overdue: true }
      const deps = { database: rebuilds, limited: pLimit(1), counters: ending, settlement, log }
      await rebuildCounters(deps, organizationId, fault).catch(() => undefined)
    },
    sweep: () => sweepAll(servers),
    /** Lets every deadline pass, settles everything, and compares counters, reservations and ledger. */
    async finish() {
      await setClock(offsetMs + LEASE_MS * 2)
      await sweepAll(servers)
      for (const [index] of entitlements.entries()) await admitChecked(index, index, undefined)
      for (const request of inFlight.splice(0))
        await gatewayOf(request.gateway).settlement.refund(
          request.charge,
          failedOutcome('INTERNAL_UNAVAILABLE', 5, null),
        )
      await sweepAll(servers)
      await checkLedger(servers, organizationId)
      for (const held of entitlements) await checkCounters(servers, held, await now())
    },
  }
}

function at<T>(list: readonly T[], index: number): T {
  const found = list[index % list.length]
  if (found === undefined) throw new Error('the list is empty')
  return found
}

function isConflict(admission: Admission): admission is Extract<Admission, { status: 'refused' }> & {
  readonly refusal: { readonly reason: 'conflict'; readonly originalRequestId: string }
} {
  return admission.status === 'refused' && admission.refusal.reason === 'conflict'
}

function candidateOf(held: ModelEntitlement, key: number | undefined): Candidate {
  return createCandidate(held, {
    corpusPassages: CORPUS.passages,
    ...(key === undefined ? {} : { key: `${held.scope.organizationId} ${key}` }),
  })
}

/** @param passages numbers of passages of the corpus. */
function servedOf(passages: readonly number[]): readonly ServedPassage[] {
  return [...new Set(passages)].map((passage) => {
    const document = `d${Math.floor(passage / DOCUMENT_PASSAGES) % DOCUMENTS}`
    return { chunk: `${document}-${passage % DOCUMENT_PASSAGES}`, document, total: DOCUMENT_PASSAGES }
  })
}

async function sweepAll(servers: Servers): Promise<void> {
  const { settlement, counters } = at(servers.gateways, 0)
  await sweep({ database: servers.owner, settlement, counters, log: createLog('model', 'silent') })
  for (;;) {
    const due = await ledgerEntriesDue(servers.owner, -1, 500)
    if (due.length === 0) return
    await appendLedgerEntries(servers.owner, due)
  }
}
