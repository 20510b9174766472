import { expect, it } from 'vitest'
import { ABSTAINED_QUERY } from '#test/support/caller.ts'
import { LONG_TOPIC, MIXED_KNOWLEDGE_BASE } from './corpus.ts'
import { newCaller } from './service.ts'

it('answers, abstains and refuses', async () => {
  const caller = await newCaller()
  const answered = await caller.ask()
  expect(answered.retrieved().abstention.decision).toBe('answer')
  expect((await caller.ask({ query: ABSTAINED_QUERY })).retrieved().abstention.decision).toBe('abstain')
  expect((await caller.ask({ filters: { language: ['fr'] } })).error().error.code).toBe('FILTER_FORBIDDEN')
  const mixed = await newCaller({ knowledgeBase: MIXED_KNOWLEDGE_BASE, languages: ['en', 'fr'], jurisdictions: ['XA'] })
  const long = (await mixed.ask({ query: LONG_TOPIC })).retrieved()
  console.log(long.usage, long.abstention)
})
