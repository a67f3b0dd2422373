"use strict";
// Only what the server wrote becomes elements, by this one policy.
const own = window.trustedTypes?.createPolicy("fairlead", {createHTML: text => text}) ?? {createHTML: text => text};
const all = (selector, in_ = document) => [...in_.querySelectorAll(selector)];
const parse = text => {
  const t = document.createElement("template");
  t.innerHTML = own.createHTML(text);
  return t.content;
};
const {root, view, query} = document.body.dataset;
const news = document.getElementById("news"), form = all("form")[0], sent = new Map();
let seq = document.body.dataset.seq, heard = Date.now(), source, timer, again, asked;

// One stream for a tab that is seen: over HTTP/1.1 a browser has six for all tabs of a host.
function listen() {
  source?.close();
  if (document.hidden) return;
  source = new EventSource(root + "events?" + new URLSearchParams({of: view, since: seq}) + (query && "&" + query));
  const missing = () => document.getElementById("missing");
  const take = e => {
    if (missing()) return location.reload(); // it is there now
    seq = e.lastEventId || seq;
    e.data.split("\n").forEach(put);
    ages();
    fresh();
  };
  source.addEventListener("message", take);
  source.addEventListener("list", e => { take(e); refill().catch(() => {}); });
  source.addEventListener("beat", fresh);
  source.addEventListener("gone", () => missing() ? fresh() : location.reload());
  source.addEventListener("reload", () => location.reload());
  const stream = source; // one that is answered with an error, as by a proxy, is not opened again by itself
  stream.addEventListener("error", () => {
    if (stream.readyState !== 2 || stream !== source) return;
    clearTimeout(again);
    again = setTimeout(listen, 2e3 + Math.random() * 4e3);
  });
}

// Each element goes in the place of the one with its id, if it changed: nothing moves.
function put(line) {
  for (const e of [...parse(line).children]) {
    const old = document.getElementById(e.id), html = e.outerHTML;
    if (!e.id || !old || sent.get(e.id) === html) continue;
    sent.set(e.id, html);
    swap(old, e);
  }
}

// swap keeps the focus, and what is folded open.
function swap(old, e) {
  const focus = old.contains(document.activeElement) ? document.activeElement : null;
  all("details", old).forEach((d, i) => { const again = all("details", e)[i]; if (again) again.open = d.open; });
  old.replaceWith(e);
  buttons(e);
  if (!focus) return;
  const again = focus.getAttribute("href") ? all("a", e).find(a => a.getAttribute("href") === focus.getAttribute("href")) : all(focus.localName, e)[0];
  again?.focus({preventScroll: true});
}

function fresh() { heard = Date.now(); tell("live"); }
function tell(text) {
  if (news.textContent === text) return;
  news.textContent = text;
  document.body.classList.toggle("stale", text !== "live");
}

// Times are told as ages; a stream that is silent is told as well.
function ages() {
  for (const t of all("time")) {
    const age = (Date.now() - Date.parse(t.dateTime)) / 1000, s = Math.abs(age);
    const long = s < 120 ? ~~s + " s" : s < 7200 ? ~~(s / 60) + " min" : s < 172800 ? ~~(s / 3600) + " h" : ~~(s / 86400) + " d";
    const text = age < -5 ? "in " + long : long + " ago";
    if (t.textContent === text) continue;
    t.title ||= t.textContent;
    t.textContent = text;
  }
  if (Date.now() - heard > 40e3 && !document.hidden) tell("no news since " + new Date(heard).toISOString().slice(11, 19) + "Z");
}

// The server filters, and the address is the whole view.
async function refill() {
  asked?.abort();
  asked = new AbortController();
  const answer = await fetch(location.search || "?", {signal: asked.signal, headers: {Accept: "text/html"}});
  if (!answer.ok) return;
  const fresh = parse(await answer.text()).querySelector("#view");
  if (fresh) swap(document.getElementById("view"), fresh);
  ages();
}
function filter() {
  history.replaceState(null, "", "?" + new URLSearchParams(new FormData(form)));
  refill().catch(() => {});
}
form?.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, 120); });
form?.addEventListener("submit", e => { e.preventDefault(); all("tbody th a")[0]?.focus(); });

document.addEventListener("keydown", e => {
  if (document.activeElement.matches("input, select") || e.ctrlKey || e.metaKey || e.altKey) return;
  const rows = all("tbody th a"), at = rows.indexOf(document.activeElement);
  if (e.key === "/" && form) { e.preventDefault(); form.elements.q.select(); }
  if (e.key === "j" || e.key === "k") rows[Math.max(0, at + (e.key === "j" ? 1 : -1))]?.focus();
});

function buttons(e) {
  for (const b of all(".copy", e)) {
    b.hidden = !navigator.clipboard;
    b.onclick = async () => {
      await navigator.clipboard.writeText(b.previousElementSibling.textContent);
      b.firstChild.data = "Copied";
    };
  }
}
document.addEventListener("visibilitychange", listen);
setInterval(ages, 5000);
buttons(document);
ages();
listen();
