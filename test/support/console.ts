import { request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

/** Asks a console as its page does. Headers are sent as they are given: `fetch` would set Host and Origin itself. */
export function consoleAt(url: string) {
  const [origin = '', token = ''] = url.split('/#')
  const headers = { origin, 'x-console-token': token, 'content-type': 'application/json' }
  async function send(path: string, body: object, given: Readonly<Record<string, string>> = headers) {
    const reply = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(`${origin}${path}`, { method: 'POST', headers: given }, resolve)
      sent.on('error', reject).end(JSON.stringify(body))
    })
    return { status: reply.statusCode, text: await text(reply), headers: reply.headers }
  }
  return { token, headers, send }
}
