import { afterAll, beforeAll, expect, it } from 'vitest'
import { ABSTAINED_QUERY, startTestService } from '#test/support/service.ts'
import type { TestService } from '#test/support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
}, 60_000)
afterAll(() => service.stop())

it('answers, abstains and refuses', async () => {
  const caller = await service.newCaller()
  const answered = await caller.ask()
  expect(answered.retrieved().abstention.decision).toBe('answer')
  expect((await caller.ask({ query: ABSTAINED_QUERY })).retrieved().abstention.decision).toBe('abstain')
  expect((await caller.ask({ filters: { language: ['fr'] } })).error().error.code).toBe('FILTER_FORBIDDEN')
})
