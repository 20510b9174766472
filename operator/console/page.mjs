// Runs in the browser of an operator. Every form asks its action by POST, and shows the reply in the element it names.
// The token stays in the fragment, which no browser sends.
const token = location.hash.slice(1)

async function send(form) {
  const into = document.getElementById(form.dataset.into)
  const body = JSON.stringify(Object.fromEntries(new FormData(form)))
  const headers = { 'content-type': 'application/json', 'x-console-token': token }
  into.setAttribute('aria-busy', 'true')
  try {
    const reply = await fetch(form.getAttribute('action'), { method: 'POST', headers, body, cache: 'no-store' })
    // The server has escaped every text, and the policy of the page runs no other script.
    into.innerHTML = await reply.text()
    into.querySelector('[tabindex="-1"]')?.focus()
  } catch {
    into.textContent = 'The demo does not answer: see whether it still runs.'
  } finally {
    into.removeAttribute('aria-busy')
  }
}

document.addEventListener('submit', (event) => {
  event.preventDefault()
  void send(event.target)
})
const tabs = [...document.querySelectorAll('[data-view]')]
for (const tab of tabs)
  tab.addEventListener('click', () => {
    for (const each of tabs) {
      each.setAttribute('aria-pressed', String(each === tab))
      document.getElementById(each.dataset.view).hidden = each !== tab
    }
    if (tab.dataset.view === 'holding') document.querySelector('#holding > form').requestSubmit()
  })
// Without a question to ask, the documents are all there is.
if (tabs.length === 0) document.querySelector('#holding > form').requestSubmit()
