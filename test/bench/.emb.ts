import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import OpenAI from 'openai'
import { unitVector } from '#core/embedding/embedder.ts'
const text = 'Question 1: The firm shall record something within thirty days of a complaint, and what else?'
const vector = new Float32Array(768).map(() => Math.random() - 0.5)
writeFileSync('/tmp/bench/q.json', JSON.stringify([{ text, vector: Buffer.from(vector.buffer).toString('base64') }]))
const child = spawn(process.execPath, ['/work/main/test/bench/provider.ts', '/tmp/bench/q.json', '18123'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], cwd: '/work/main' })
await new Promise((r) => setTimeout(r, 1500))
const agent = new http.Agent({ keepAlive: true })
const lean = (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => new Promise((resolve, reject) => {
  const headers = Object.fromEntries(init.headers as Headers)
  const call = http.request(String(url), { agent, method: init.method, headers: { ...headers, 'content-length': Buffer.byteLength(init.body as string) }, signal: init.signal ?? undefined }, (res) => {
    const chunks: Buffer[] = []
    res.on('data', (c) => chunks.push(c)); res.on('error', reject)
    res.on('end', () => resolve(new Response(Buffer.concat(chunks), { status: res.statusCode, headers: res.headers as Record<string, string> })))
  })
  call.on('error', reject); call.end(init.body as string)
})
const leanText = (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => new Promise((resolve, reject) => {
  const headers = Object.fromEntries(init.headers as Headers)
  const call = http.request(String(url), { agent, method: init.method, headers: { ...headers, 'content-length': Buffer.byteLength(init.body as string) }, signal: init.signal ?? undefined }, (res) => {
    const chunks: Buffer[] = []
    res.on('data', (c) => chunks.push(c)); res.on('error', reject)
    res.on('end', () => { const t = Buffer.concat(chunks).toString(); resolve({ status: res.statusCode, ok: true, headers: new Headers(res.headers as never), url, body: null, text: async () => t } as never) })
  })
  call.on('error', reject); call.end(init.body as string)
})
const base = { apiKey: 'x', baseURL: 'http://127.0.0.1:18123/v1', maxRetries: 0, timeout: 4000, logLevel: 'off' as const }
const variants: Record<string, () => Promise<unknown>> = {}
for (const [name, fetcher] of [['fetch', undefined], ['lean', lean], ['leanText', leanText]] as const) {
  const client = new OpenAI({ ...base, ...(fetcher ? { fetch: fetcher } : {}) })
  for (const fmt of ['float', 'base64'] as const)
    variants[`${name} ${fmt}`] = async () => {
      const total = AbortSignal.any([AbortSignal.timeout(10_000), AbortSignal.timeout(4000)])
      const r = await client.embeddings.create({ model: 'm', input: [text], dimensions: 768, encoding_format: fmt }, { signal: total })
      const e: unknown = r.data[0]!.embedding
      if (typeof e === 'string') { const b = Buffer.from(e, 'base64'); const v = new Float32Array(b.length / 4); new Uint8Array(v.buffer).set(b); unitVector(v, 768) } else unitVector(e as number[], 768)
    }
  variants[`${name} no-signal base64`] = async () => { const r = await client.embeddings.create({ model: 'm', input: [text], dimensions: 768, encoding_format: 'base64' }); void r }
}
variants['bare http'] = async () => new Promise<void>((resolve, reject) => { const body = JSON.stringify({ model: 'm', input: [text], dimensions: 768, encoding_format: 'base64' }); const c = http.request({ host: '127.0.0.1', port: 18123, path: '/v1/embeddings', method: 'POST', agent, headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } }, (res) => { const ch: Buffer[] = []; res.on('data', (d) => ch.push(d)); res.on('end', () => { JSON.parse(Buffer.concat(ch).toString()); resolve() }) }); c.on('error', reject); c.end(body) })
for (let round = 0; round < 3; round++) for (const [name, f] of Object.entries(variants)) {
  const N = 2000; let n = 0
  const t = process.cpuUsage(), w = performance.now()
  await Promise.all(Array.from({ length: 8 }, async () => { while (n++ < N) await f() }))
  const u = process.cpuUsage(t)
  if (round > 0) console.log(name.padEnd(24), ((u.user + u.system) / N / 1000).toFixed(3), 'ms CPU', ((performance.now() - w) / N).toFixed(3), 'ms wall')
}
child.kill(); process.exit()
