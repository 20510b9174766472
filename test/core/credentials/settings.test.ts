import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { CREDENTIAL_SETTINGS, parseServiceSecrets } from '#core/credentials/settings.ts'
import { readConfig } from '#core/platform/config.ts'

const { SERVICE_SECRET } = CREDENTIAL_SETTINGS
const base64 = (bytes: number): string => randomBytes(bytes).toString('base64')

describe('SERVICE_SECRET', () => {
  test('it holds one secret or two, in the order in which they are given', () => {
    const [first, second] = [randomBytes(32), randomBytes(32)]
    expect(parseServiceSecrets(first.toString('base64'))).toEqual([first])
    expect(parseServiceSecrets(`${first.toString('base64')},${second.toString('base64')}`)).toEqual([first, second])
    expect(parseServiceSecrets(` ${second.toString('base64url')} , ${first.toString('base64')}\n`)).toEqual([
      second,
      first,
    ])
  })

  const same = randomBytes(32)
  test.each([
    ['nothing', ','],
    ['31 bytes', base64(31)],
    ['33 bytes', base64(33)],
    ['a second that is empty', `${base64(32)},`],
    ['a first that is empty', `,${base64(32)}`],
    ['a second of 16 bytes', `${base64(32)},${base64(16)}`],
    ['three secrets', [base64(32), base64(32), base64(32)].join(',')],
    ['two secrets without a comma', `${base64(32)}${base64(32)}`],
    ['another separator', `${base64(32)};${base64(32)}`],
    ['characters that are no base64', `!!${base64(32)}`],
    ['the same secret twice', `${same.toString('base64')},${same.toString('base64')}`],
    ['the same secret in two spellings', `${same.toString('base64')},${same.toString('base64url')}`],
  ])('%s is refused in one sentence that does not repeat it', (_, value) => {
    expect(() => readConfig({ SERVICE_SECRET }, { SERVICE_SECRET: value })).toThrow(
      new RegExp(`^The configuration has 1 fault\\(s\\):\\n  SERVICE_SECRET is not valid: ${SERVICE_SECRET.help}$`),
    )
  })
})
