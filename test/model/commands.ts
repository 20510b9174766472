import fc from 'fast-check'
import { REBUILD_STEPS, type InFlight, type Sequence } from './sequence.ts'

/** The model of a sequence is the sequence itself: it checks every step against its oracle. */
type Step = fc.AsyncCommand<object, Sequence>

function step(text: string, run: (sequence: Sequence) => Promise<void> | void): Step {
  return {
    check: () => true,
    run: async (_, sequence) => {
      await run(sequence)
    },
    toString: () => text,
  }
}

/** A step of one of the requests in flight; nothing where there is none. */
function settling(
  text: string,
  index: number,
  run: (sequence: Sequence, request: InFlight) => Promise<void> | void,
): Step {
  return step(`${text} #${index}`, async (sequence) => {
    const { inFlight } = sequence
    const request = inFlight[index % Math.max(1, inFlight.length)]
    if (request !== undefined) await run(sequence, request)
  })
}

const gateway = fc.integer({ min: 0, max: 1 })
const entitlement = fc.integer({ min: 0, max: 1 })
const key = fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined })
const index = fc.integer({ min: 0, max: 5 })
const passages = fc.array(fc.integer({ min: 0, max: 29 }), { maxLength: 3 })

const admission = fc
  .tuple(gateway, entitlement, key)
  .map(([g, e, k]) => step(`admit on ${g} for ${e} key ${k}`, (sequence) => sequence.admit(g, e, k)))
const burst = fc
  .tuple(fc.integer({ min: 2, max: 8 }), entitlement, key, fc.boolean())
  .map(([n, e, k, r]) =>
    step(`burst of ${n} for ${e} key ${k}${r ? ' during a rebuild' : ''}`, (sequence) => sequence.burst(n, e, k, r)),
  )
const delivery = fc
  .tuple(index, passages)
  .map(([i, p]) => settling(`deliver ${p.join(',')}`, i, (sequence, request) => sequence.deliver(request, p)))
const failure = index.map((i) => settling('fail', i, (sequence, request) => sequence.fail(request)))
const hangUp = index.map((i) => settling('hang up', i, (sequence, request) => sequence.hangUp(request)))
const crash = fc.oneof(
  fc
    .tuple(gateway, entitlement, key)
    .map(([g, e, k]) =>
      step(`crash after the charge on ${g} for ${e} key ${k}`, (sequence) => sequence.crashAfterCharge(g, e, k)),
    ),
  index.map((i) =>
    settling('crash before settlement', i, (sequence, request) => sequence.crashBeforeSettlement(request)),
  ),
  fc
    .tuple(index, passages)
    .map(([i, p]) =>
      settling(`crash after recording ${p.join(',')}`, i, (sequence, request) => sequence.crashAfterRecord(request, p)),
    ),
  index.map((i) =>
    settling('crash after the refund in Postgres', i, (sequence, request) => sequence.crashAfterRefund(request)),
  ),
)
const redisLoss = fc.constant(step('lose Redis', (sequence) => sequence.loseRedis()))
const redisRestart = fc.constant(step('restart Redis', (sequence) => sequence.restartRedis()))
const failOver = fc.constant(step('fail over', (sequence) => sequence.failOver()))
const time = fc.oneof(
  fc.constantFrom(1_000, 21_000, 61_000, 3_600_000).map((ms) => step(`pass ${ms} ms`, (sequence) => sequence.pass(ms))),
  fc.constant(step('midnight', (sequence) => sequence.toNextDay())),
  fc.constant(step('end of the month', (sequence) => sequence.toNextMonth())),
)
const rebuild = gateway.map((g) => step(`rebuild on ${g}`, (sequence) => sequence.rebuild(g)))
const crashInRebuild = fc
  .tuple(gateway, fc.constantFrom(...REBUILD_STEPS))
  .map(([g, at]) => step(`crash in a rebuild on ${g} at ${at}`, (sequence) => sequence.crashInRebuild(g, at)))
const sweep = fc.constant(step('sweep', (sequence) => sequence.sweep()))

const anyStep = fc.oneof(
  { weight: 30, arbitrary: admission },
  { weight: 8, arbitrary: burst },
  { weight: 20, arbitrary: delivery },
  { weight: 6, arbitrary: failure },
  { weight: 6, arbitrary: hangUp },
  { weight: 16, arbitrary: crash },
  { weight: 4, arbitrary: redisLoss },
  { weight: 1, arbitrary: redisRestart },
  { weight: 2, arbitrary: failOver },
  { weight: 14, arbitrary: time },
  { weight: 4, arbitrary: rebuild },
  { weight: 4, arbitrary: crashInRebuild },
  { weight: 4, arbitrary: sweep },
)

export const anySteps = fc.commands([anyStep], { maxCommands: 40, size: '+1' })
