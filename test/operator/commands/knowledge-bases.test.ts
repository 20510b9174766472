import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { openOperatorHarness } from '#test/support/operator-cli.ts'

const harness = await openOperatorHarness()
beforeAll(() => createKnowledgeBase(harness.operator, { slug: 'rules', title: 'Rules' }))
afterAll(() => harness.close())

test('the trace of a knowledge base is off until an operator turns it on, and each turn is audited', async () => {
  const { cli, owner } = harness
  const traced = async (): Promise<unknown> => await cli.json('knowledge-bases', 'list')
  expect(await traced()).toMatchObject([{ slug: 'rules', traced: false }])
  expect(await cli.json('knowledge-bases', 'trace', 'rules', 'on')).toMatchObject({ slug: 'rules', traced: true })
  expect(await traced()).toMatchObject([{ traced: true }])
  expect(await cli.run('knowledge-bases', 'trace', 'rules', 'on')).toMatchObject({
    code: 1,
    stderr: 'The trace of "rules" is on already: nothing was changed.\n',
  })
  await cli.json('knowledge-bases', 'trace', 'rules', 'off')
  expect(await traced()).toMatchObject([{ traced: false }])
  const { rows } = await owner.query("select action from audit where action like '%trace%' order by seq")
  expect(rows).toEqual([{ action: 'knowledge-base.trace-on' }, { action: 'knowledge-base.trace-off' }])
})
