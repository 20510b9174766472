import { spawn, type ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { OperatorError } from '#core/platform/errors.ts'
import { GIT_BOUNDS } from './bounds.ts'

/** An object as git gives it; nothing of it is checked. */
type FoundObject = Readonly<{ kind: string; bytes: Buffer }>

/** Starts `git cat-file --batch`, which answers one request after the other. @param gitFolder an empty repository. */
export function startCatFile(gitFolder: string, objects: string) {
  const child = spawn('git', ['cat-file', '--batch'], {
    cwd: gitFolder,
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      LC_ALL: 'C',
      HOME: gitFolder,
      GIT_DIR: gitFolder,
      GIT_OBJECT_DIRECTORY: objects,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_NO_REPLACE_OBJECTS: '1',
      GIT_NO_LAZY_FETCH: '1',
      GIT_ALLOW_PROTOCOL: '',
      GIT_TERMINAL_PROMPT: '0',
    },
  })
  const ended = new Promise<Error | undefined>((done) => {
    child.once('error', done)
    child.once('exit', () => done(undefined))
  })
  // An object may be asked for after git has ended: its output says so.
  child.stdin.on('error', () => undefined)
  const output = new Output(child)
  const readNext = async (id: string, bytesMax: number): Promise<FoundObject | undefined> => {
    const line = await output.line()
    const cause = line === undefined ? await ended : undefined
    if (cause !== undefined)
      throw new OperatorError('git is not found: install it, so that clones can be read', { cause })
    const [, kind, size] = /^\S+ (commit|tree|blob|tag) (\d+)$/.exec(line ?? '') ?? []
    if (kind === undefined) return undefined
    if (Number(size) > bytesMax) {
      if (Number(size) > GIT_BOUNDS.skippedBytesMax) child.kill('SIGKILL')
      else await output.skip(Number(size) + 1)
      throw new TooLarge(`the ${kind} ${id} has ${size} bytes, more than the ${bytesMax} that are read`)
    }
    const bytes = await output.take(Number(size) + 1)
    return bytes === undefined ? undefined : { kind, bytes: bytes.subarray(0, -1) }
  }
  let last: Promise<unknown> = Promise.resolve()
  return {
    /** Returns undefined for an object that is missing or damaged. @throws OperatorError for one that is too large. */
    read: (id: string, bytesMax: number): Promise<FoundObject | undefined> => {
      // What is asked for meanwhile is on its way already.
      child.stdin.write(`${id}\n`)
      const next = last.then(() => readNext(id, bytesMax))
      last = next.catch(() => undefined)
      return next
    },
    close: async () => {
      child.kill('SIGKILL')
      child.stdout.destroy()
      await ended
    },
  }
}

/** An object above the bound: those after it are read, unless it is above that of what is skipped. */
export class TooLarge extends OperatorError {}

const NEWLINE = 0x0a

/** The output of git, taken by lines and by lengths. */
class Output {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #blocks: AsyncIterator<unknown>
  #held: Buffer[] = []
  #bytes = 0

  constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child
    this.#blocks = child.stdout[Symbol.asyncIterator]()
  }

  /** Returns the next line, or undefined where the output ends. */
  async line(): Promise<string | undefined> {
    for (;;) {
      const end = this.#whole().indexOf(NEWLINE)
      if (end !== -1) return (await this.take(end + 1))?.toString('latin1').trimEnd()
      if (!(await this.#more())) return undefined
    }
  }

  async take(bytes: number): Promise<Buffer | undefined> {
    for (;;) {
      if (this.#bytes >= bytes) {
        const all = this.#whole()
        this.#held = [all.subarray(bytes)]
        this.#bytes = all.length - bytes
        return all.subarray(0, bytes)
      }
      if (!(await this.#more())) return undefined
    }
  }

  async skip(bytes: number): Promise<void> {
    for (let left = bytes; left > 0;) left -= (await this.take(Math.min(left, this.#bytes || 1)))?.length ?? left
  }

  #whole(): Buffer {
    const [only, ...others] = this.#held
    const all = only !== undefined && others.length === 0 ? only : Buffer.concat(this.#held)
    this.#held = [all]
    return all
  }

  /** Waits for a block. Git is killed where none comes in time. */
  async #more(): Promise<boolean> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), GIT_BOUNDS.objectTimeoutMs)
    const next = await this.#blocks.next().finally(() => clearTimeout(timer))
    if (next.done === true || !Buffer.isBuffer(next.value)) return false
    this.#held.push(next.value)
    this.#bytes += next.value.length
    return true
  }
}
