import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { folderOfFile } from '#test/support/folder.ts'
import { runScript } from '#test/support/processes.ts'
import { FLEET_CHECKS } from './checks.ts'

const folder = folderOfFile()

test('with Postgres cut off under load, and a withdrawal, every check holds, and nothing is left of the run', async () => {
  const args = ['--seed', '1218', '--minutes', '0.7', '--data-dir', folder]
  const { code, output } = await runScript(['test/fleet/main.ts', ...args])
  expect(code, output).toBe(0)
  expect(output).toContain('gateway-0 postgres cut + gateway-1 postgres cut + withdraw')
  expect(output).toContain('1 round(s). Every check that could be made holds.')
  for (const { name } of FLEET_CHECKS) expect(output).toContain(name)
  expect(readdirSync(folder)).toEqual([])
})
