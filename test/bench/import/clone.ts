import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SOURCE_YAML } from '#law/sources/list.ts'
import { seededRandom } from '#test/support/passages.ts'

const WORDS =
  'das wer ein haus hat muss die lampe vor der tür melden darf nicht frist tagen behörde ist kann soll im falle von'
const ARTICLES = { min: 4, max: 40 } as const
const WORDS_PER_ARTICLE = { min: 15, max: 120 } as const
const VERSIONS = 3
/** What the operator states of it. */
export const STATED = '{ language: de, authorities: { de: Sample Parliament } }\n'
const MS_PER_DAY = 86_400_000

/**
 * Makes a clone of acts with three versions each, sizes as published acts have them, once for a folder of data, and
 * copies it. @returns the folder of the copy, which may be changed.
 */
export async function makeClone(dataDir: string, copy: string, acts: number): Promise<string> {
  const kept = join(dataDir, `clone-${acts}`)
  if (!existsSync(kept)) {
    await commitActs(`${kept}.part`, acts)
    await rename(`${kept}.part`, kept)
  }
  await cp(kept, copy, { recursive: true })
  return copy
}

async function commitActs(folder: string, acts: number): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await git(folder, ['init', '-q', '-b', 'main', folder])
  await writeFile(join(folder, SOURCE_YAML), STATED)
  await git(folder, ['fast-import', '--quiet'], function* () {
    for (let version = 0; version < VERSIONS; version += 1)
      for (let act = 0; act < acts; act += 1) yield commitOf(act, version)
  })
}

/** Commits a reform of so many acts, as a pull brings them. */
export async function pullReforms(folder: string, reforms: number): Promise<void> {
  await git(folder, ['fast-import', '--quiet'], function* () {
    for (let act = 0; act < reforms; act += 1) yield commitOf(act, VERSIONS, act === 0)
  })
}

function commitOf(act: number, version: number, follows = false): string {
  const message = `[${version === 0 ? 'new' : 'reform'}] Gesetz ${act}\n\nSource-Date: ${dayOf(act, version)}\n`
  const text = actOf(act, version)
  return [
    `commit refs/heads/main\ncommitter Publisher <publisher@law.example> ${1_500_000_000 + version * 86_400} +0000`,
    `data ${Buffer.byteLength(message)}\n${message}${follows ? 'from refs/heads/main^0\n' : ''}M 100644 inline de/G-${act}.md`,
    `data ${Buffer.byteLength(text)}\n${text}\n`,
  ].join('\n')
}

/** Each version says other words in one of its articles. */
function actOf(act: number, version: number): string {
  const random = seededRandom(act)
  const between = ({ min, max }: { min: number; max: number }): number => min + Math.floor(random() * (max - min))
  const words = WORDS.split(' ')
  const articles = Array.from({ length: between(ARTICLES) }, (_, index) => {
    const text = Array.from({ length: between(WORDS_PER_ARTICLE) }, () => words[between({ min: 0, max: words.length })])
    const amended = index === 0 && version > 0 ? ` Fassung ${version}.` : ''
    return `##### § ${index + 1}\n\nSatz ${subjectOf(act, index)} ${text.join(' ')}.${amended}\n`
  })
  const front = {
    title: `Gesetz ${act}`,
    identifier: `G-${act}`,
    country: 'de',
    rank: 'gesetz',
    publication_date: dayOf(act, 0),
    last_updated: dayOf(act, version),
    status: 'in_force',
    source: `https://law.example/${act}`,
  }
  const head = Object.entries(front).map(([name, value]) => `${name}: "${value}"`)
  return `---\n${head.join('\n')}\n---\n# ${front.title}\n\n${articles.join('\n')}`
}

/** A word that no other article has, so that an evaluation finds it among a hundred thousand. */
function subjectOf(act: number, index: number): string {
  const letters = (act * ARTICLES.max + index).toString(17).padStart(6, '0')
  return [...letters].map((digit) => `${'bcdfghjklmnprstvz'[Number.parseInt(digit, 17)] ?? ''}a`).join('')
}

function dayOf(act: number, version: number): string {
  return new Date(Date.UTC(2000 + version * 6, 0, 1) + (act % 1_000) * MS_PER_DAY).toISOString().slice(0, 10)
}

async function git(folder: string, args: readonly string[], lines?: () => Iterable<string>): Promise<void> {
  const cwd = lines === undefined ? '/' : folder
  const child = spawn('git', [...args], { cwd, stdio: ['pipe', 'ignore', 'inherit'] })
  const closed = once(child, 'close')
  for (const line of lines?.() ?? []) if (!child.stdin.write(line)) await once(child.stdin, 'drain')
  child.stdin.end()
  const [code] = await closed
  if (code !== 0) throw new Error(`git ${args[0] ?? ''} ended with ${String(code)}`)
}
