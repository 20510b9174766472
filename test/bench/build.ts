import { createProgress } from '#jobs/cli/progress.ts'
import { buildArtifact } from './artifact.ts'

/**
 * Builds one artifact in a process of its own, so that its peak memory can be measured separately.
 * node test/bench/build.ts <passages> <dimensions> <seed> <store URL> private key (DER, base64) in MANIFEST_PRIVATE_KEY
 */
const [passages = '', dimensions = '', seed = '', storeUrl = ''] = process.argv.slice(2)
const privateKeyDer = Buffer.from(process.env['MANIFEST_PRIVATE_KEY'] ?? '', 'base64')
const progress = createProgress(process.stderr)
await buildArtifact(
  { passages: Number(passages), dimensions: Number(dimensions), seed: Number(seed), storeUrl, privateKeyDer },
  (stage, done, total) => progress.update(stage, done, total),
)
progress.end()
