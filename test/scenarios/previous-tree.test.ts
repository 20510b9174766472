import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MIGRATIONS, shippedMigrations } from '#core/db/migration-files.ts'
import { startGateway } from '#jobs/cli/local/stack.ts'
import type { LocalGateway } from '#jobs/cli/local/stack.ts'
import { withoutGuards } from '#test/support/database.ts'
import { extractPreviousTree } from '#test/support/scenarios/previous-tree.ts'
import type { PreviousTree } from '#test/support/scenarios/previous-tree.ts'
import { startTestService } from '#test/support/service.ts'
import type { TestService } from '#test/support/service.ts'

/**
 * Of a version that release 0.2.0 built. A gateway refuses a calibration whose features it does not know, so gateways
 * are upgraded before a new release builds versions.
 */
const FORMER_CALIBRATION = {
  features: ['window_coverage', 'first_coverage'],
  means: [0, 0],
  scales: [1, 1],
  coefficients: [2, 2],
  intercept: -2,
  threshold: 0.5,
  target_risk: 0.05,
  folds: 0,
  curve: [],
  auroc: null,
  aurc: null,
  ece: null,
  coverage_at_target: null,
  questions: 0,
  answerable: 0,
}

let previous: PreviousTree
let service: TestService
beforeAll(async () => {
  previous = extractPreviousTree()
  service = await startTestService({ gateways: 0 })
  const calibrated = "update retrieval_profiles set parameters = jsonb_set(parameters, '{calibration}', $1)"
  await withoutGuards(service.owner, calibrated, [JSON.stringify(FORMER_CALIBRATION)])
})
afterAll(async () => {
  await service?.stop()
  previous?.remove()
})

/** A tree without the rule refuses every newer schema. */
const REFUSED = /The database is at migration \d+, newer than/

async function startPrevious(): Promise<LocalGateway | 'refused'> {
  const addresses = service.searchNodes.map(({ address }) => address)
  const settings = { ...service.settings, root: previous.folder }
  return startGateway(settings, addresses, 'gateway-of-previous-tree').catch((error: unknown) => {
    if (error instanceof Error && REFUSED.test(error.message)) return 'refused'
    throw error
  })
}

/** Statuses of three questions, and of readiness after them. */
async function askThrough(gateway: LocalGateway): Promise<readonly number[]> {
  const caller = await service.createCaller({})
  const statuses: number[] = []
  for (let n = 0; n < 3; n++) {
    const answer = await caller.ask({}, { baseUrl: gateway.baseUrl })
    statuses.push(answer.status)
  }
  return [...statuses, (await fetch(`${gateway.internalUrl}/readyz`)).status]
}

test('a gateway of the tree before the newest migration is ready on the schema of this tree, and serves', async () => {
  expect(previous.migrations).not.toContain(shippedMigrations().at(-1)?.name)
  const gateway = await startPrevious()
  const outcome = gateway === 'refused' ? gateway : await askThrough(service.add(gateway))
  expect(outcome).toEqual(previous.knowsTheRule ? [200, 200, 200, 200] : 'refused')
})

test('without the git history, the sentence says what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-no-history-'))
  try {
    cpSync(MIGRATIONS, join(folder, 'core/db/migrations'), { recursive: true })
    expect(() => extractPreviousTree(folder)).toThrow(
      'The tree before the newest migration is not in the git history: run the tests in a clone with its whole history',
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
