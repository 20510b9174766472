import { describe, expect, test } from 'vitest'
import { REDIS_URL, parseRedisUrl } from '#core/redis/url.ts'

const plain = { username: undefined, password: undefined, database: 0, tls: false }
const sentinelPlain = {
  kind: 'sentinel',
  primaryName: 'limits',
  login: { username: undefined, password: undefined },
} as const
const single = (host: string, port: number) => ({ servers: { kind: 'single', address: { host, port } } }) as const

describe('REDIS_URL', () => {
  test.each([
    ['redis://host', { ...plain, ...single('host', 6_379) }],
    ['redis://127.0.0.1:1/', { ...plain, ...single('127.0.0.1', 1) }],
    ['rediss://[::1]:7000/3', { ...plain, database: 3, tls: true, ...single('::1', 7_000) }],
    [
      'redis://:p%40ss%2F@h.example:6380/63',
      { ...plain, password: 'p@ss/', database: 63, ...single('h.example', 6_380) },
    ],
    ['redis://user:a:b@c@host', { ...plain, username: 'user', password: 'a:b@c', ...single('host', 6_379) }],
  ])('%s names one server', (text, target) => {
    expect(parseRedisUrl(text)).toEqual(target)
    expect(REDIS_URL.schema.safeParse(text).success).toBe(true)
  })

  test.each([
    [
      'redis-sentinel://one:1,two,[::1]:3/limits',
      {
        ...plain,
        servers: {
          ...sentinelPlain,
          sentinels: [
            { host: 'one', port: 1 },
            { host: 'two', port: 26_379 },
            { host: '::1', port: 3 },
          ],
        },
      },
    ],
    [
      'rediss-sentinel://user:secret@one/limits/5?sentinel_username=watch&sentinel_password=a%26b',
      {
        username: 'user',
        password: 'secret',
        database: 5,
        tls: true,
        servers: {
          ...sentinelPlain,
          sentinels: [{ host: 'one', port: 26_379 }],
          login: { username: 'watch', password: 'a&b' },
        },
      },
    ],
  ])('%s names Sentinels', (text, target) => {
    expect(parseRedisUrl(text)).toEqual(target)
    expect(REDIS_URL.schema.safeParse(text).success).toBe(true)
  })

  test.each([
    '',
    'host:6379',
    'http://host',
    'redis-cluster://host:6379',
    'redis://',
    'redis:///0',
    'redis://one,two',
    'redis://host:0',
    'redis://host:65536',
    'redis://host:6379/x',
    'redis://host:6379/1/2',
    'redis://host:6379?db=1',
    'redis://host:6379#1',
    'redis://user@host',
    'redis://%zz:hunter2@host',
    'redis://ho st',
    'redis-sentinel://one:1',
    'redis-sentinel://one:1/',
    'redis-sentinel://one:1,/limits',
    'redis-sentinel://one:1,two:x/limits',
    'redis-sentinel://one:1/lim its',
    'redis-sentinel://one:1/limits/x',
    'redis-sentinel://one:1/limits/1/2',
    'redis-sentinel://one:1/limits?name=other',
    'redis-sentinel://one:1/limits?sentinel_username=watch',
  ])('"%s" is refused, in words that do not repeat it', (text) => {
    expect(REDIS_URL.schema.safeParse(text).success).toBe(false)
    expect(() => parseRedisUrl(text)).toThrow(new Error(`the URL of Redis is not valid; needed is ${REDIS_URL.help}`))
  })
})
