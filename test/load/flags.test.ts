import { expect, test } from 'vitest'
import { UsageError } from '#test/support/long-run.ts'
import { loadFlags } from './flags.ts'
import { planOf } from './plan.ts'
import { SCENARIOS } from './scenarios/list.ts'

const KEYED = ['--key', 'k', '--knowledge-base', 'rules']

test('without arguments the run starts services of its own and plays every scenario', () => {
  expect(loadFlags([])).toMatchObject({ url: undefined, scenarios: [], gateways: 2, seconds: 60 })
  expect(loadFlags(['embedded'])).toMatchObject({ url: undefined })
  expect(planOf('embedded', []).scenarios).toEqual(SCENARIOS)
})

test('a URL of this machine is taken as it is, and any other one needs --yes', () => {
  for (const url of ['http://127.0.0.1:8080', 'http://localhost:8080', 'http://[::1]:8080', 'http://127.9.9.9'])
    expect(loadFlags(['--url', url, ...KEYED])).toMatchObject({ url: { url } })
  for (const url of [
    'http://10.0.0.1',
    'https://127.0.0.1.example.org',
    'http://localhost.example.org',
    'http://[::2]',
  ])
    expect(() => loadFlags(['--url', url, ...KEYED]), url).toThrow(/is not this machine.*--yes/)
  expect(loadFlags(['--url', 'https://example.org', '--yes', ...KEYED])).toMatchObject({
    url: { url: 'https://example.org' },
  })
})

test('arguments that do not fit are refused with one sentence', () => {
  for (const args of [
    ['--gateways', '3'],
    ['--seconds', '0'],
    ['--seconds', '601'],
    ['--scenario', 'nothing'],
    ['--seed', '1.5'],
    ['remote'],
    ['embedded', '--url', 'http://127.0.0.1', ...KEYED],
    ['--key', 'k'],
    ['--url', 'http://127.0.0.1', '--key', 'k'],
    ['--url', 'http://127.0.0.1', '--knowledge-base', 'rules'],
    ['--url', 'ftp://127.0.0.1', ...KEYED],
    ['--url', 'nothing', ...KEYED],
    ['--unknown'],
  ])
    expect(() => loadFlags(args), args.join(' ')).toThrow(UsageError)
})

test('a scenario that needs another one brings it along, in the order of the list', () => {
  expect(planOf('embedded', ['overload', 'minute']).scenarios.map(({ name }) => name)).toEqual([
    'minute',
    'saturation',
    'overload',
  ])
})

test('from outside, scenarios that need services of their own are left out and named', () => {
  const { scenarios, leftOut } = planOf('url', [])
  expect(scenarios.every(({ needs }) => needs === 'anywhere')).toBe(true)
  for (const { name, needs } of SCENARIOS)
    expect(
      leftOut.some((sentence) => sentence.startsWith(`The scenario ${name} `)),
      name,
    ).toBe(needs === 'embedded')
})
