import { describe, expect, test } from 'vitest'
import { issueKey } from '#core/credentials/api-key.ts'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { createCaller } from './service.ts'
import { withoutIds } from './replies.ts'
import { expectEventually } from '#test/support/until.ts'

/** An address of this file's own, so that no other test's failures count here, nor these there. */
const FLOODING = '127.0.0.77'
const OTHER = '127.0.0.78'

function unknownKey(): string {
  return issueKey('live', { name: 'unknown', secret: Buffer.alloc(32, 2) }).secret
}

describe('Keys: a budget of failures per address', () => {
  test('past it unknown keys are refused alike, while known ones keep passing', async () => {
    const caller = await createCaller()
    const first = await caller.ask({}, { key: unknownKey(), from: FLOODING })
    for (let sent = 1; sent < GATEWAY_BOUNDS.failedKeysPerAddressPerMinute + 10; sent++) {
      const refusal = await caller.ask({}, { key: unknownKey(), from: FLOODING })
      expect(withoutIds(refusal)).toBe(withoutIds(first))
    }
    expect((await caller.ask({}, { from: FLOODING })).status).toBe(200)
    expect((await caller.ask({}, { from: OTHER })).status).toBe(200)
  })

  test('a key issued while its address floods passes too', async () => {
    const caller = await createCaller()
    await expectEventually(async () => (await caller.ask({}, { from: FLOODING })).status, 200)
  })
})
