import { corpusArtifact } from '#test/bench/artifact.ts'
import { exactAnswers, recallAt5 } from '#test/bench/exact.ts'
import { inventQueries, COMPARED_QUERIES } from '#test/bench/queries.ts'
import { SELECTIVITIES } from '#test/bench/corpus.ts'
import { readOrCreateState } from '#jobs/demo/state.ts'
import { pathToFileURL } from 'node:url'
import { openMapping } from '#search-node/search/mapping.ts'
import { search } from '#search-node/search/pipeline.ts'
const dir = '/tmp/bench/data'
const state = readOrCreateState(dir + '/state.json')
const [passages, dimensions] = [Number(process.argv[2]), Number(process.argv[3])]
const t0 = performance.now()
const artifact = await corpusArtifact({ passages, seed: 1, dimensions, storeUrl: pathToFileURL(dir + '/store').href, privateKeyDer: Buffer.from(state.secrets.MANIFEST_PRIVATE_KEY, 'base64'), onProgress: () => {} })
console.log('artifact', ((performance.now() - t0) / 1000).toFixed(1))
const queries = inventQueries(artifact.space, 1)
const t1 = performance.now()
const exact = await exactAnswers({ passages, seed: 1 }, artifact, queries, dir)
console.log('exact', ((performance.now() - t1) / 1000).toFixed(1), exact.allowed)
const mapping = openMapping({ projectionId: artifact.projectionId, folder: artifact.folder, passages, dimensions, connectivity: 16 })
for (const s of SELECTIVITIES) {
  const plans: Record<string, number> = {}
  const run = () => queries.slice(0, COMPARED_QUERIES).map((q) => { const r = search(mapping, { vector: q.vector, limit: 5, filters: { ...s.pinned, in_force_on: '2026-11-01' }, expansion: 64 }); plans[r.plan] = (plans[r.plan] ?? 0) + 1; return r.passages.map((p) => p.chunk_id) })
  run()
  const t = performance.now()
  const answers = run()
  console.log(s.name, 'recall', recallAt5(answers, exact.nearest[s.name]).toFixed(4), 'ms/query', ((performance.now() - t) / COMPARED_QUERIES).toFixed(3), plans)
}
mapping.close()
