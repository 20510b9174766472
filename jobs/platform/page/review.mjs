// Runs in the browser of a reviewer, without any other file. The page reads well without it.
const find = document.querySelector('#find')
const kind = document.querySelector('#kind')
const open = document.querySelector('#open')
const said = document.querySelector('#found')
const cards = [...document.querySelectorAll('article.change')]
const groups = [...document.querySelectorAll('details.group')].filter((group) => group.querySelector('article.change'))
const texts = new Map()
const textOf = (card) => {
  if (!texts.has(card)) {
    const group = card.closest('details')
    const title = group === null ? '' : group.querySelector('summary').textContent
    texts.set(card, `${card.textContent} ${title}`.toLowerCase())
  }
  return texts.get(card)
}

// Ticks stay on the machine of the reviewer, under the name of the version.
const store = `ticks ${document.documentElement.dataset.version}`
const ticked = new Set(keptTicks())
function keptTicks() {
  try {
    return JSON.parse(localStorage.getItem(store) ?? '[]')
  } catch {
    return []
  }
}
function keep() {
  try {
    localStorage.setItem(store, JSON.stringify([...ticked]))
  } catch {
    // Without a store the ticks last as long as the page.
  }
}

function show() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean)
  let shown = 0
  for (const card of cards) {
    const kinds = card.dataset.kinds.split(' ')
    const fits =
      (kind.value === '' || kinds.includes(kind.value)) &&
      !(open.checked && ticked.has(card.id)) &&
      words.every((word) => textOf(card).includes(word))
    card.hidden = !fits
    if (fits) shown += 1
  }
  for (const group of groups) group.hidden = group.querySelector('article.change:not([hidden])') === null
  const done = cards.filter(({ id }) => ticked.has(id)).length
  said.textContent = `${shown} of ${cards.length} shown, ${done} ticked`
}

if (find !== null) {
  for (const box of document.querySelectorAll('input.tick')) {
    const card = box.closest('article')
    box.checked = ticked.has(card.id)
    box.addEventListener('change', () => {
      if (box.checked) ticked.add(card.id)
      else ticked.delete(card.id)
      keep()
      show()
    })
  }
  let waiting
  find.addEventListener('input', () => {
    clearTimeout(waiting)
    waiting = setTimeout(show, 120)
  })
  kind.addEventListener('change', show)
  open.addEventListener('change', show)
  document.querySelector('#tools').hidden = false
  show()
}
addEventListener('beforeprint', () => {
  for (const group of document.querySelectorAll('details')) group.open = true
})

// All passages of one document, from the compressed data at the end of the page.
const data = document.querySelector('#passages')
const view = document.querySelector('#document')
let documents
async function unpacked() {
  const bytes = Uint8Array.from(atob(data.textContent.trim()), (one) => one.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
  return JSON.parse(await new Response(stream).text())
}
function element(name, text, style) {
  const made = document.createElement(name)
  if (text !== undefined) made.textContent = text
  if (style !== undefined) made.className = style
  return made
}
async function showDocument() {
  const id = /^#document-(.+)$/.exec(location.hash)?.[1]
  if (id === undefined || data === null) return
  documents ??= unpacked()
  const found = (await documents).find((one) => one.id === id)
  if (found === undefined) return
  const heading = element('h3', found.title)
  heading.tabIndex = -1
  view.replaceChildren(heading, element('p', `${found.passages.length} passages`, 'soft small'))
  for (const [label, day, text, named] of found.passages) {
    const card = element('section', undefined, 'miss passage')
    const head = element('p', undefined, 'small')
    head.append(element('b', label), element('span', ` · in force from ${day} · `, 'soft'), element('code', named))
    const words = element('p', text, 'words')
    words.dir = 'auto'
    card.append(head, words)
    view.append(card)
  }
  view.hidden = false
  heading.scrollIntoView()
  heading.focus()
}
addEventListener('hashchange', () => void showDocument())
void showDocument()
