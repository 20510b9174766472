import { expect, test } from 'vitest'
import { UsageError } from '#test/support/long-run.ts'
import { SCENARIOS, loadFlags, scenariosNamed } from './flags.ts'

test('without arguments the run plays every scenario; one that needs another brings it along, in their order', () => {
  expect(loadFlags([])).toMatchObject({ scenarios: SCENARIOS, gateways: 2, seconds: 60 })
  expect(scenariosNamed(['overload', 'minute']).map(({ name }) => name)).toEqual(['minute', 'saturation', 'overload'])
})

test.each([
  ['--gateways', '3'],
  ['--seconds', '0'],
  ['--seconds', '601'],
  ['--scenario', 'nothing'],
  ['--seed', '1.5'],
  ['embedded', ''],
  ['--unknown', ''],
])('%s %s is refused with one sentence', (...args) => {
  expect(() => loadFlags(args.filter((word) => word !== ''))).toThrow(UsageError)
})
