import { expect, onTestFinished, test } from 'vitest'
import { buildTestArtifact, type TestArtifact } from '#test/support/artifact.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { testRows } from '#test/support/passages.ts'
import { CALL_TIMEOUT_MS } from '#test/support/until.ts'
import { openNode, refusalOf } from '#test/support/fixtures.ts'
import { nodeEnvironment } from '#test/support/search-node.ts'
import { folderOfFile } from '#test/support/folder.ts'

const [earlier, current] = [signingKeys(), signingKeys()]
const store = folderOfFile()

const build = (seed: number, { privateKeyDer }: typeof earlier): Promise<TestArtifact> =>
  buildTestArtifact({
    name: `version ${seed}`,
    store,
    rows: testRows({ rows: 50, dimensions: 16, seed }),
    privateKeyDer,
  })
const served = await build(1, earlier)
const rebuilt = await build(2, current)

/** Starts a node that trusts the keys, and says of each version whether it loads, or why not. */
async function loads(...keys: readonly (typeof earlier)[]): Promise<readonly string[]> {
  const trusted = keys.map(({ publicKeyDer }) => publicKeyDer)
  const { client } = await openNode(nodeEnvironment(store, trusted), onTestFinished)
  const load = (version: TestArtifact): Promise<string> =>
    client.prepareVersion(version, CALL_TIMEOUT_MS).then(() => 'loaded', String)
  return [await load(served), await load(rebuilt)]
}

test('a version signed by an earlier key loads while that key is listed, and not once it is removed', async () => {
  const refused = expect.stringContaining('holds under no key of MANIFEST_PUBLIC_KEY: add the key that signed it')
  expect(await loads(earlier)).toEqual(['loaded', refused])
  expect(await loads(earlier, current)).toEqual(['loaded', 'loaded'])
  expect(await loads(current, earlier)).toEqual(['loaded', 'loaded'])
  expect(await loads(current)).toEqual([refused, 'loaded'])
})

test('a list with a key twice, with more than eight keys, or with something that is no key is refused', async () => {
  const nine = Array.from({ length: 9 }, () => signingKeys().publicKeyDer)
  const noKey = Buffer.alloc(44)
  for (const keys of [[earlier.publicKeyDer, earlier.publicKeyDer], nine, [earlier.publicKeyDer, noKey]])
    expect(await refusalOf(nodeEnvironment(store, keys))).toContain('MANIFEST_PUBLIC_KEY is not valid')
  expect(await loads(earlier, ...nine.slice(2).map((publicKeyDer) => ({ ...current, publicKeyDer })))).toHaveLength(2)
})
