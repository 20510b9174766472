import { afterAll, expect, inject, test } from 'vitest'
import { runModel } from '#test/model/run.ts'
import { startSequence } from '#test/model/sequence.ts'
import { openServers } from '#test/model/servers.ts'
import { openTestPools } from '#test/support/postgres.ts'

const SEQUENCES = 40

const { database } = await openTestPools()
const servers = await openServers(database)
afterAll(() => servers.close())

test('leases of gateways that ended count until their deadline, though their deliveries do not yet', async () => {
  const sequence = await startSequence(servers)
  for (const passages of [[22], [20, 21]]) {
    await sequence.admit(0, 0, undefined)
    for (const request of sequence.inFlight.slice()) await sequence.crashAfterRecord(request, passages)
  }
  await sequence.admit(0, 0, undefined)
  expect(sequence.inFlight).toEqual([])
  await sequence.finish()
})

test('a rebuild ends one doubt, and the next one counts', async () => {
  const sequence = await startSequence(servers)
  await sequence.crashAfterCharge(0, 0, undefined)
  await sequence.rebuild(1)
  await sequence.burst(2, 0, undefined, false)
  const [first] = sequence.inFlight
  if (first !== undefined) await sequence.hangUp(first)
  await sequence.burst(2, 0, undefined, false)
  const [second] = sequence.inFlight
  if (second !== undefined) await sequence.deliver(second, [])
  await sequence.admit(0, 0, undefined)
  const [third] = sequence.inFlight
  if (third !== undefined) await sequence.crashAfterRefund(third)
  await sequence.admit(0, 0, undefined)
  await sequence.finish()
  expect(sequence.inFlight).toEqual([])
})

test('counters, reservations and ledger agree after any sequence of requests and faults', async () => {
  const { seed } = inject('random')
  const { sequences, violation } = await runModel(servers, { seed, sequences: SEQUENCES })
  expect(violation).toBeNull()
  expect(sequences).toBe(SEQUENCES)
})
