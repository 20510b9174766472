import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fastify } from 'fastify'
import { z } from 'zod'
import { manifestSchema } from '#core/index/format/manifest.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import { spaceOfVectors } from '#test/support/artifact.ts'
import { vectorBlocks } from './artifact.ts'

/**
 * LanceDB's hybrid query behind a bare Fastify route, over the passages of an artifact. It holds the questions'
 * vectors, so that no provider is called.
 * node test/bench/lance-server.ts <node_modules with LanceDB> <artifact> <folder for its table> <questions.json> <port>
 */
const [modules = '', artifact = '', folder = '', questionsFile = '', port = ''] = process.argv.slice(2)

/** As much of LanceDB as is used here; the package is not the project's. */
interface Query {
  nearestTo(vector: Float32Array): Query
  fullTextSearch(text: string, options: { readonly columns: readonly string[] }): Query
  distanceType(type: 'cosine'): Query
  ef(ef: number): Query
  refineFactor(factor: number): Query
  rerank(reranker: object): Query
  where(predicate: string): Query
  select(columns: readonly string[]): Query
  limit(rows: number): Query
  toArray(): Promise<Readonly<Record<(typeof COLUMNS)[number], unknown>>[]>
}
interface Table {
  add(rows: object): Promise<unknown>
  createIndex(column: string, options: { readonly config: object }): Promise<void>
  optimize(): Promise<unknown>
  query(): Query
}
interface Database {
  createTable(name: string, rows: object): Promise<Table>
  openTable(name: string): Promise<Table>
}
interface LanceDb {
  connect(folder: string): Promise<Database>
  readonly Index: { hnswSq(options: object): object; fts(options: object): object; bitmap(): object }
  readonly rerankers: { readonly RRFReranker: { create(): Promise<object> } }
  makeArrowTable(rows: readonly object[]): object
}

const COLUMNS = ['row', 'chunk_id', 'heading', 'text', 'language'] as const
const TABLE = 'passages'
/**
 * Candidates that the graph keeps in view, and how many times the limit are scored again from float32. More would
 * find more and take longer: the recall that they reach is shown beside the throughput.
 */
const EF = 64
const REFINE_FACTOR = 4

const lancedb = createRequire(join(modules, 'x.js'))('@lancedb/lancedb') as LanceDb
const reranker = await lancedb.rerankers.RRFReranker.create()
const table = await openTable()

async function openTable(): Promise<Table> {
  const complete = join(folder, 'complete')
  if (existsSync(complete)) return (await lancedb.connect(folder)).openTable(TABLE)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const made = await fill(await lancedb.connect(folder))
  await made.createIndex('vector', { config: lancedb.Index.hnswSq({ distanceType: 'cosine', numPartitions: 1 }) })
  await made.createIndex('text', { config: lancedb.Index.fts({ stem: true, removeStopWords: true }) })
  for (const column of ['language', 'jurisdiction', 'subject'])
    await made.createIndex(column, { config: lancedb.Index.bitmap() })
  await made.optimize()
  writeFileSync(complete, '')
  return made
}

async function fill(database: Database): Promise<Table> {
  const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(artifact, 'manifest.json'), 'utf8')))
  const { dimensions } = spaceOfVectors(manifest)
  const passages = passagesIn(join(artifact, 'passages.jsonl'))[Symbol.asyncIterator]()
  let made: Table | undefined
  for (const { firstRow, vectors } of vectorBlocks({ folder: artifact, manifest })) {
    const rows: object[] = []
    for (let at = 0; at < vectors.length / dimensions; at++) {
      const next = await passages.next()
      if (next.done === true) throw new Error('the artifact has more vectors than passages')
      const { chunk_id, heading, text, metadata, subjects } = next.value
      const { language, jurisdiction } = metadata
      const vector = vectors.subarray(at * dimensions, (at + 1) * dimensions)
      const [subject = ''] = subjects
      rows.push({ row: firstRow + at, chunk_id, heading, text, language, jurisdiction, subject, vector })
    }
    const batch = lancedb.makeArrowTable(rows)
    if (made === undefined) made = await database.createTable(TABLE, batch)
    else await made.add(batch)
  }
  if (made === undefined) throw new Error('the artifact holds no passage')
  return made
}

const questionsSchema = z.array(z.strictObject({ text: z.string(), vector: z.string() }))
const vectorOf = new Map(
  questionsSchema
    .parse(JSON.parse(readFileSync(questionsFile, 'utf8')))
    .map(({ text, vector }) => [text, new Float32Array(new Uint8Array(Buffer.from(vector, 'base64')).buffer)] as const),
)

const values = z.array(z.string()).optional()
const requestSchema = z.object({
  query: z.string(),
  top_k: z.int(),
  vectors_alone: z.boolean().default(false),
  filters: z.object({ language: values, jurisdiction: values, subject: values }).optional(),
})

async function answer(body: unknown): Promise<object> {
  const { query, top_k, filters, vectors_alone } = requestSchema.parse(body)
  let search = table
    .query()
    .nearestTo(vectorOf.get(query) ?? new Float32Array())
    .distanceType('cosine')
    .ef(EF)
    .refineFactor(REFINE_FACTOR)
  if (!vectors_alone) search = search.fullTextSearch(query, { columns: ['text'] }).rerank(reranker)
  const predicate = Object.entries(filters ?? {}).flatMap(([column, wanted]) =>
    wanted === undefined
      ? []
      : [`${column} in (${wanted.map((value) => `'${value.replaceAll("'", "''")}'`).join(', ')})`],
  )
  if (predicate.length > 0) search = search.where(predicate.join(' and '))
  const rows = await search.select(COLUMNS).limit(top_k).toArray()
  return { results: rows.map((row) => Object.fromEntries(COLUMNS.map((column) => [column, row[column]]))) }
}

const app = fastify()
app.get('/ready', () => ({}))
app.post('/search', ({ body }) => answer(body))
await app.listen({ host: '127.0.0.1', port: Number(port) })
for (const signal of ['SIGTERM', 'SIGINT', 'disconnect']) process.on(signal, () => process.exit(0))
