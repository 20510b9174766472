import { readFileSync } from 'node:fs'
import { html, styleSheet } from './markup.ts'
import type { Markup } from './markup.ts'

/** The policy stops browsers from loading or running anything, even if a text contains markup. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'"

const STYLE = styleSheet(readFileSync(new URL('./style.css', import.meta.url), 'utf8'))

/** Renders a self-contained HTML page without scripts or external resources. Its heading is the title. */
export function renderDocument(title: string, body: Markup): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="Content-Security-Policy" content="${POLICY}" />
        <meta name="referrer" content="no-referrer" />
        <title>${title}</title>
        ${STYLE}
      </head>
      <body>
        <h1>${title}</h1>
        ${body}
      </body>
    </html> `.source
}
