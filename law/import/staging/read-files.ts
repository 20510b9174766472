import { globSync, readFileSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { deserialize, serialize } from 'node:v8'
import { canonicalJson, sha256 } from '#core/platform/digest.ts'
import { sqliteFault } from '#core/platform/sqlite-fault.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'

/** Removes what an interrupted import kept, unless an import has it open. @returns whether it did. */
export function removeReadFiles(path: string): boolean {
  try {
    using connection = new DatabaseSync(path)
    connection.exec('begin exclusive')
  } catch (error) {
    if (sqliteFault(error) !== 'damaged') return false
  }
  for (const each of [path, `${path}-journal`]) rmSync(each, { force: true })
  return true
}

/** What reads: neither a release nor a commit tells a changed checkout. */
const PROGRAM = '../../../{package.json,{core,law}/**/*.{ts,json}}'
const SCHEMA = `pragma locking_mode=exclusive; pragma synchronous=0;pragma max_page_count=${IMPORT_BOUNDS.readPagesMax};
begin exclusive; create table if not exists read_file (at integer primary key, digest blob, held blob) strict; commit`

/**
 * Opens what an interrupted import has read, so that the next one by this program and with the same `about` reads the
 * rest alone: each file has a digest over these and what it gave. Nothing is kept while another import has it open.
 */
export function openReadFiles<Read>(path: string, about: unknown) {
  const program = globSync(PROGRAM, { cwd: import.meta.dirname }).sort()
  const code = program.map((name) => readFileSync(new URL(name, import.meta.url), 'hex'))
  const key = sha256(canonicalJson([program, code, about]))
  const digestOf = (at: number, held: Uint8Array): Buffer => sha256(Buffer.concat([key, Buffer.from(`${at} `), held]))
  let connection: DatabaseSync | undefined = new DatabaseSync(path)
  let taken = 0
  function close(isExpectedAgain: boolean): void {
    connection?.close()
    if (connection !== undefined && !isExpectedAgain) rmSync(path, { force: true })
    connection = undefined
  }
  /** Without what was read an import only takes longer, so that no fault of its file ends one. */
  function attempt<T>(use: (open: DatabaseSync) => T): T | undefined {
    try {
      return connection && use(connection)
    } catch (error) {
      close(sqliteFault(error) === 'busy')
      return undefined
    }
  }
  attempt((open) => open.exec(SCHEMA))
  return {
    taken: () => taken,
    take: (at: number) =>
      attempt((open) => {
        const { digest, held } = open.prepare('select digest, held from read_file where at = ?').get(at) ?? {}
        const isBytes = digest instanceof Uint8Array && held instanceof Uint8Array
        if (!isBytes || !digestOf(at, held).equals(digest)) return undefined
        taken += 1
        // This program wrote the bytes.
        return deserialize(held) as Read
      }),
    keep: (at: number, read: Read) =>
      attempt((open) => {
        const held = serialize(read)
        open.prepare('replace into read_file values (?, ?, ?)').run(at, digestOf(at, held), held)
      }),
    close,
  }
}
