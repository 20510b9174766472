import axe from 'axe-core'
import { chromium, type Browser, type Page } from 'playwright-core'
import { installDebianPackage } from '#operator/demo/local/debian-package.ts'
import { outputOf } from '#operator/demo/local/supervised-process.ts'

/** How a page is looked at. */
export interface Look {
  readonly scheme: 'light' | 'dark'
  readonly device: 'desk' | 'phone'
}

export const LOOKS: readonly Look[] = (['light', 'dark'] as const).flatMap((scheme) =>
  (['desk', 'phone'] as const).map((device) => ({ scheme, device })),
)

const VIEWPORTS = { desk: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } }

const find = (): string | undefined =>
  ['chromium', 'chromium-browser']
    .map((name) => outputOf('/bin/sh', ['-c', 'command -v "$1"', 'find', name]))
    .find((path) => path !== undefined && path !== '')

/** Starts Debian's Chromium, and installs it where it is missing. @throws Error naming what to install. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = find() ?? (installDebianPackage('chromium') ? find() : undefined)
  if (executablePath === undefined) throw new Error('This test needs Chromium: install it and put it on the PATH.')
  // Its sandbox needs a user that is not root.
  return await chromium.launch({ executablePath, args: ['--no-sandbox'] })
}

/** Opens a page; `faults` is what its console says. @param isForAudit whether the audit may put its script into the page, past the page's own policy. */
export async function openPage(browser: Browser, url: string, { scheme, device }: Look, isForAudit = false) {
  const viewport = VIEWPORTS[device]
  const context = await browser.newContext({ colorScheme: scheme, viewport, bypassCSP: isForAudit })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(String(error)))
  await page.goto(url)
  return { page, faults, close: () => context.close() }
}

/**
 * @param prepare brings the page to what is audited.
 * @returns what axe finds against WCAG and its best practices, by rule with the first element.
 */
export async function auditOf(
  browser: Browser,
  url: string,
  look: Look,
  prepare?: (page: Page) => Promise<void>,
): Promise<readonly string[]> {
  const { page, close } = await openPage(browser, url, look, true)
  await using ending = new AsyncDisposableStack()
  ending.defer(() => close())
  await prepare?.(page)
  await page.addScriptTag({ content: axe.source })
  const result = await page.evaluate<axe.AxeResults>("axe.run(document, { resultTypes: ['violations'] })")
  return result.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`)
}
