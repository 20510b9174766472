import { createProgress } from '#operator/command-line/progress.ts'
import { buildArtifact } from './artifact.ts'
import { corpusSpecSchema, openCorpus } from './spec.ts'

/**
 * Builds one artifact in a process of its own, so that its peak memory can be measured separately.
 * node test/bench/build.ts <corpus as JSON> <store URL> private key (DER, base64) in MANIFEST_PRIVATE_KEY
 */
const [spec = '', storeUrl = ''] = process.argv.slice(2)
const corpus = openCorpus(corpusSpecSchema.parse(JSON.parse(spec)))
const privateKeyDer = Buffer.from(process.env['MANIFEST_PRIVATE_KEY'] ?? '', 'base64')
const progress = createProgress(process.stderr)
await buildArtifact({ corpus, storeUrl, privateKeyDer }, (done, total) => progress.update('artifact', done, total))
progress.end()
