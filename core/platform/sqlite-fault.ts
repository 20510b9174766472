import { z } from 'zod'

/** Result codes of SQLite (https://www.sqlite.org/rescode.html), without what extends them. */
const FAULTS: Readonly<Record<number, 'busy' | 'damaged' | 'full'>> = {
  5: 'busy',
  6: 'busy',
  11: 'damaged',
  13: 'full',
  26: 'damaged',
}
/** SQLITE_NOTADB */
export const NO_DATABASE_FILE = 26

const sqliteError = z.object({ errcode: z.int() }).transform(({ errcode }) => errcode & 0xff)

/**
 * `busy`: another process writes; the same call may succeed later. `damaged`: the file is not readable as a database.
 * `full`: the disk, or the bound of the file, has no space left.
 */
export function sqliteFault(error: unknown): 'busy' | 'damaged' | 'full' | 'other' {
  return FAULTS[sqliteError.safeParse(error).data ?? 0] ?? 'other'
}

/** Returns the code of an error of the file system; Node's of a new folder on a read-only one is ENOENT. '': no error. */
export function systemCodeOf(error: unknown): string {
  if (sqliteFault(error) === 'full') return 'ENOSPC'
  const { code = '', syscall }: NodeJS.ErrnoException = error instanceof Error ? error : { name: '', message: '' }
  return syscall === 'mkdir' && code === 'ENOENT' ? 'EROFS' : code
}
