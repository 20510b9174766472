import { beforeAll, describe, expect, test } from 'vitest'
import { expireKey } from '#core/db/api-keys.ts'
import { issueKey } from '#core/credentials/api-key.ts'
import { parsePeppers } from '#core/credentials/settings.ts'
import { revokeKeyNow } from '#operator/actions/api-keys.ts'
import type { Caller } from '#test/support/caller.ts'
import type { Answer, AskOptions } from '#test/support/http.ts'
import { createCaller, service } from './service.ts'
import { withoutIds } from './replies.ts'
import { expectEventually } from '#test/support/until.ts'

/** A header without its scheme: told by a message of its own, which says nothing of a key. */
const WITHOUT_SCHEME = [
  'no Authorization header',
  'an empty Authorization header',
  'a scheme alone',
  'a scheme and a space',
  'basic credentials',
  'a good key without the scheme',
]
/** Keys of callers that may ask nothing, and a good one. */
interface Keys {
  readonly good: string
  readonly revoked: string
  readonly expired: string
  readonly ofTest: string
}
const ending = (key: string, last: string): string => `${key.slice(0, -1)}${last}`
/** Every way in which a key can be invalid; the refusals must be byte-identical except for ids. */
const FAULTY: Readonly<Record<string, (keys: Keys) => AskOptions>> = {
  'no Authorization header': () => ({}),
  'an empty Authorization header': () => ({ headers: { authorization: '' } }),
  'a scheme alone': () => ({ headers: { authorization: 'Bearer' } }),
  'a scheme and a space': () => ({ headers: { authorization: 'Bearer ' } }),
  'basic credentials': () => ({ headers: { authorization: 'Basic dXNlcjpwYXNzd29yZA==' } }),
  'a good key without the scheme': ({ good }) => ({ headers: { authorization: good } }),
  'a key that is not one': () => ({ key: 'password' }),
  'a key with a letter too few': ({ good }) => ({ key: ending(good, '') }),
  'a key with a letter too many': ({ good }) => ({ key: `${good}a` }),
  'a wrong checksum': ({ good }) => ({ key: ending(good, good.endsWith('0') ? '1' : '0') }),
  'another case': ({ good }) => ({ key: good.toUpperCase() }),
  'an unknown key': () => ({ key: issueKey('live', { name: 'unknown', secret: Buffer.alloc(32, 1) }).secret }),
  'a revoked key': ({ revoked }) => ({ key: revoked }),
  'an expired key': ({ expired }) => ({ key: expired }),
  'a key of the other environment': ({ ofTest }) => ({ key: ofTest }),
  'a key of the other environment, relabelled': ({ ofTest }) => ({ key: ofTest.replace('_test_', '_live_') }),
  'a very long key': () => ({ key: 'e'.repeat(5_000) }),
  'two keys in one header': ({ good }) => ({ headers: { authorization: `Bearer ${good}, Bearer ${good}` } }),
}

let caller: Caller
const refusals = new Map<string, Answer>()
beforeAll(async () => {
  caller = await createCaller()
  const [revoked, expired, other] = [
    await createCaller(),
    await createCaller(),
    await createCaller({ environment: 'test' }),
  ]
  await revokeKeyNow(service.operator, revoked.keyId)
  await expireKey(service.operator.database, expired.keyId, 0)
  const keys = { good: caller.key, revoked: revoked.key, expired: expired.key, ofTest: other.key }
  for (const [name, faulty] of Object.entries(FAULTY))
    refusals.set(name, await caller.ask({}, { key: undefined, ...faulty(keys) }))
})

describe('Authentication: 401 INVALID_API_KEY', () => {
  test.each(Object.keys(FAULTY))('%s', (name) => {
    const refusal = refusals.get(name)
    expect([refusal?.status, refusal?.error().error.code]).toEqual([401, 'INVALID_API_KEY'])
  })

  test('all refusals of a key are identical, apart from ids, and so are those of a header without the scheme', () => {
    const [schemes, keys] = [true, false].map((lacking) =>
      [...refusals].filter(([name]) => WITHOUT_SCHEME.includes(name) === lacking).map(([, answer]) => answer),
    )
    for (const alike of [schemes, keys]) expect(new Set(alike?.map(withoutIds)).size).toBe(1)
    expect(schemes?.[0]?.error().error.message).toContain('the scheme Bearer')
    expect(keys?.[0]?.error().error.message).not.toContain('Bearer')
  })

  test('a reply names the scheme and nothing else', () => {
    expect(refusals.get('an unknown key')?.headers.get('www-authenticate')).toBe('Bearer')
  })
})

describe('Authentication: bearer keys', () => {
  test.each(['bearer', 'BEARER', 'Bearer'])('the scheme is written in any case: %s', async (scheme) => {
    expect((await caller.ask({}, { headers: { authorization: `${scheme} ${caller.key}` } })).status).toBe(200)
  })

  test('a key is erk_<test|live>_ with at least 160 random bits and a CRC-32, in base 62', () => {
    expect(caller.key).toMatch(/^erk_live_[0-9A-Za-z]{33}$/)
    expect(27 * Math.log2(62)).toBeGreaterThan(160)
  })

  test('two Authorization headers are refused, whichever of them is good', async () => {
    const twice = await caller.ask(
      {},
      { key: undefined, headers: { authorization: [`Bearer ${caller.key}`, `Bearer ${caller.key}`] } },
    )
    expect([twice.status, twice.error().error.code]).toEqual([400, 'INVALID_REQUEST'])
  })

  test('a key in the query string or the body is no key', async () => {
    expect((await caller.ask({}, { key: undefined, path: `/v1/retrieve?access_token=${caller.key}` })).status).toBe(401)
    expect((await caller.ask({ api_key: caller.key }, { key: undefined })).status).toBe(401)
  })

  test('only the HMAC, the name of the pepper and a short prefix of a key are stored', async () => {
    const { rows } = await service.owner.query<{ row: string; prefix: string; octets: number }>(
      "select api_keys::text || encode(digest, 'escape') as row, prefix, octet_length(digest) as " +
        'octets from api_keys where id = $1',
      [caller.keyId],
    )
    expect(rows[0]?.octets).toBe(32)
    expect(caller.key.startsWith(rows[0]?.prefix ?? '-')).toBe(true)
    expect(rows[0]?.prefix.length).toBeLessThan(16)
    expect(rows[0]?.row).not.toContain(caller.key.slice(13))
  })
})

describe('Authentication: 403 SCOPE_FORBIDDEN', () => {
  test.each([[['usage:read']], [['retrieval:write', 'usage:read']], [['retrieval:reads']]])(
    'a key without the scope retrieval:read, but with %j',
    async (scopes) => {
      const narrow = await createCaller({ scopes })
      const answer = await narrow.ask()
      expect([answer.status, answer.error().error.code]).toEqual([403, 'SCOPE_FORBIDDEN'])
    },
  )

  test('further scopes do no harm', async () => {
    const wide = await createCaller({ scopes: ['usage:read', 'retrieval:read'] })
    expect((await wide.ask()).status).toBe(200)
  })

  test('a revoked key without the scope is a 401: nothing is told about it', async () => {
    const narrow = await createCaller({ scopes: ['usage:read'] })
    await revokeKeyNow(service.operator, narrow.keyId)
    await expectEventually(async () => (await narrow.ask()).status, 401)
  })
})

describe('Authentication: environments', () => {
  test('a key is scoped to one client and one environment', async () => {
    const other = await createCaller({ environment: 'test' })
    expect(other.key).toMatch(/^erk_test_/)
    expect((await other.ask()).status).toBe(401)
  })

  test('what a key is kept under counts, not only what it says of itself', async () => {
    const mislabelled = await createCaller()
    await service.owner.query("update api_keys set environment = 'test' where id = $1", [mislabelled.keyId])
    await expectEventually(async () => (await mislabelled.ask()).status, 401)
  })

  test('an entitlement of the test environment is none in the live one', async () => {
    const other = await createCaller({ environment: 'test' })
    const { rows } = await service.owner.query<{ client_id: string }>('select client_id from api_keys where id = $1', [
      other.keyId,
    ])
    const live = issueKey(
      'live',
      parsePeppers(service.settings.secrets.KEY_PEPPERS)[0] ?? { name: '', secret: Buffer.alloc(0) },
    )
    await service.owner.query(
      'insert into api_keys (id, client_id, environment, digest, pepper, prefix, scopes, expires_at) ' +
        `values (gen_random_uuid(), $1, 'live', $2, $3, $4, '{retrieval:read}', now() + interval '1 ` +
        `day')`,
      [rows[0]?.client_id, live.digest, live.pepperName, live.prefix],
    )
    const answer = await other.ask({}, { key: live.secret })
    expect([answer.status, answer.error().error.code]).toEqual([403, 'ENTITLEMENT_INACTIVE'])
  })
})
