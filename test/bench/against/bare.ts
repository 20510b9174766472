import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fastify } from 'fastify'
import { Redis } from 'ioredis'
import { Pool } from 'pg'

/**
 * The least that a charged request needs, which the gateway is compared with: one Fastify route that checks the digest
 * of a key, runs one script of Redis, inserts and updates one row of `bare_requests`, and returns the bytes of a reply.
 * node test/bench/against/bare.ts <database> <redis> <port> <key> <file with the reply>
 */
const [database = '', redisUrl = '', port = '', key = '', reply = ''] = process.argv.slice(2)

const CONNECTIONS_MAX = 10
const COUNT = `local n = redis.call('INCR', KEYS[1]); redis.call('EXPIRE', KEYS[1], ARGV[1]); return n`
const INSERT = { name: 'insert', text: 'insert into bare_requests (id, asked) values ($1, $2)' }
const UPDATE = { name: 'update', text: 'update bare_requests set settled_at = now() where id = $1' }

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()
const wanted = digestOf(`Bearer ${key}`)
const body = readFileSync(reply)
const pool = new Pool({ connectionString: database, max: CONNECTIONS_MAX })
const redis = new Redis(redisUrl, { enableAutoPipelining: true })
const script = await redis.script('LOAD', COUNT)

const app = fastify()
app.get('/ready', () => ({}))
app.post('/v1/retrieve', async ({ headers, body: asked }, answer) => {
  if (!timingSafeEqual(digestOf(headers.authorization ?? ''), wanted)) return answer.code(401).send()
  const id = randomUUID()
  await redis.evalsha(String(script), 1, 'bare-route', 60)
  await pool.query({ ...INSERT, values: [id, JSON.stringify(asked)] })
  await pool.query({ ...UPDATE, values: [id] })
  return answer.type('application/json; charset=utf-8').send(body)
})
await app.listen({ host: '127.0.0.1', port: Number(port) })
for (const signal of ['SIGTERM', 'SIGINT', 'disconnect']) process.on(signal, () => process.exit(0))
