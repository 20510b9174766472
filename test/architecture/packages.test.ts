import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'

const versions = z.record(z.string(), z.string())
const packageSchema = z.object({ dependencies: versions, devDependencies: versions, scripts: versions })
const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({ version: z.string().optional(), optionalDependencies: versions.optional() }),
  ),
})

function read(name: string): string {
  return readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
}

const description = packageSchema.parse(JSON.parse(read('package.json')))
const lock = lockSchema.parse(JSON.parse(read('package-lock.json')))

test('every dependency is pinned to one exact version', () => {
  const loose = Object.entries({ ...description.dependencies, ...description.devDependencies }).filter(
    ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
  )
  expect(loose).toEqual([])
})

test('the lockfile holds what package.json asks for', () => {
  for (const [name, version] of Object.entries({ ...description.dependencies, ...description.devDependencies }))
    expect.soft(lock.packages[`node_modules/${name}`]?.version, name).toBe(version)
})

test('the lockfile names no registry: packages come from the one that the machine is set to', () => {
  expect(read('package-lock.json')).not.toMatch(/"resolved"|https?:\/\/[^"/]*(registry|npmjs|yarnpkg)/)
})

/** The place in node_modules where Node finds `name` from `path`. */
function found(path: string, name: string): boolean {
  for (let folder = path; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('/node_modules/'), 0))) {
    if (lock.packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`] !== undefined) return true
    if (folder === '') return false
  }
}

test('the lockfile holds the optional packages of every platform: without them npm ci refuses it', () => {
  const missing = Object.entries(lock.packages).flatMap(([path, entry]) =>
    Object.entries(entry.optionalDependencies ?? {})
      .filter(([name]) => !found(path, name))
      .map(([name, version]) => `${name} ${version}, for ${path}`),
  )
  expect(missing).toEqual([])
})
