import { existsSync, readFileSync, readdirSync } from 'node:fs'

/**
 * Prints the notice of the packages that the image installs: name, version, licence and the texts that each ships. Those
 * that ship none are named on standard error.
 *
 * Usage: `npm run --silent licences > THIRD-PARTY-NOTICES`
 */
const root = new URL('../', import.meta.url)
const { packages } = JSON.parse(readFileSync(new URL('package-lock.json', root), 'utf8'))
const withoutText = []
for (const [path, { version, license, dev }] of Object.entries(packages)) {
  const manifest = new URL(`${path}/package.json`, root)
  // Packages for another platform are not installed.
  if (path === '' || dev === true || !existsSync(manifest)) continue
  const title = `${path.replace(/^.*node_modules\//, '')} ${version}, ${license ?? 'no licence stated'}`
  const texts = readdirSync(new URL('./', manifest)).filter((name) => /^(?:licen[cs]e|copying|notice)/i.test(name))
  if (texts.length === 0) withoutText.push(title)
  const body = texts.toSorted().map((name) => readFileSync(new URL(name, manifest), 'utf8').trim())
  process.stdout.write(`${[title, '='.repeat(title.length), ...body].join('\n')}\n\n`)
}
process.stderr.write(`${withoutText.length} packages ship no licence text:\n  ${withoutText.join('\n  ')}\n`)
