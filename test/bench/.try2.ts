import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { storeUrl } from '#jobs/demo/stack.ts'
import { readOrCreateState } from '#jobs/demo/state.ts'
import { newSteps } from '#jobs/demo/steps.ts'
import { corpusArtifact } from './artifact.ts'
import { SELECTIVITIES } from './corpus.ts'
import { install } from './installation.ts'
import { drive, percentile } from './load.ts'
import { admitCaller, publishArtifact } from './publish.ts'
import { inventQueries } from './queries.ts'
import { openFull, openGrpc, openRaw } from './roads.ts'
import { cpuBetween, cpuTimes, CPU_PARTS } from './cpu.ts'
import { logEnd, meanWaits, readGatewayTimes, readWaits } from './gateway-log.ts'
import { untilSettled } from './ledger.ts'
const [passages, dimensions, clients, seconds, roadsWanted = 'raw,grpc,full', selAt = '0', prof = '', repeat = '1'] = process.argv.slice(2)
const dataDir = '/tmp/bench/data'
const steps = newSteps({ write: () => true })
steps.stopOnSignals()
const state = readOrCreateState(join(dataDir, 'state.json'))
const artifact = await corpusArtifact({ passages: Number(passages), seed: 1, dimensions: Number(dimensions), storeUrl: storeUrl({ folder: dataDir }), privateKeyDer: Buffer.from(state.secrets.MANIFEST_PRIVATE_KEY, 'base64'), onProgress: () => {} })
const queries = inventQueries(artifact.space, 1)
const installation = await install({ dataDir, dimensions: Number(dimensions), state, queries, ...(prof === '' ? {} : { environment: { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${prof}` } }) } as never, steps)
await publishArtifact(installation, artifact)
const key = await admitCaller(installation)
const full = openFull(installation.gateway.baseUrl, key)
const roads = [await openRaw(artifact), openGrpc(installation.searchNode.address, artifact), full].filter((r) => roadsWanted.split(',').includes(r.name))
const selectivity = SELECTIVITIES[Number(selAt)]!
for (const road of roads) await drive(road, { queries, selectivity, clients: Number(clients), ms: 1500, from: 0 })
for (let n = 0; n < Number(repeat); n++) {
  for (const road of roads) {
    await untilSettled(installation.owner)
    const w0 = await readWaits(installation.gateway.internalUrl), c0 = cpuTimes(), l0 = logEnd(installation.gateway.logFile)
    const load = await drive(road, { queries, selectivity, clients: Number(clients), ms: Number(seconds) * 1000, from: 100 })
    const l1 = logEnd(installation.gateway.logFile)
    const s = await untilSettled(installation.owner)
    const c = cpuBetween(c0, cpuTimes())!, w = meanWaits(w0, await readWaits(installation.gateway.internalUrl))
    const f = (o: Record<string, number>, d = 1) => Object.entries(o).map(([k, v]) => `${k} ${(v / d).toFixed(2)}`).join(', ')
    const ours = CPU_PARTS.filter((p) => p !== 'others').reduce((sum, p) => sum + c[p], 0)
    console.log(`${road.name} ${(load.answered / load.elapsedMs * 1000).toFixed(0)}/s p50 ${percentile(load.latenciesMs, .5).toFixed(1)} p99 ${percentile(load.latenciesMs, .99).toFixed(1)} failed ${load.failed} ${load.failure ?? ''} settled ${s.ms.toFixed(0)} ms; CPU/req ${(ours / load.answered).toFixed(2)} => ${(2000 / (ours / load.answered)).toFixed(0)}/s at 2 cores; others use ${(c.others / load.elapsedMs).toFixed(2)} cores`)
    if (road.name === 'full') console.log(`   wait: ${f(w)}; own p50 ${percentile(readGatewayTimes(installation.gateway.logFile, l0, l1).ownMs, .5)}`)
    console.log(`   cpu: ${f(c, load.answered)}`)
  }
}
for (const road of roads) await road.close()
await steps.stop(0)
