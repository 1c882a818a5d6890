// The page's frame: the address holds view, what is asked and the moment, so a link shows the same.

import { Refused, ask, perhaps, token } from "./ask.js";
import { kept, unfold } from "./kept.js";
import { clock, element } from "./parts.js";
import * as cohorts from "./views/cohorts.js";
import * as job from "./views/job.js";
import * as money from "./views/money.js";
import * as queue from "./views/queue.js";
import * as search from "./views/search.js";
import * as topology from "./views/topology.js";
import * as trust from "./views/trust.js";
import * as whatif from "./views/whatif.js";

const TABS = { job, queue, cohorts, money, trust, topology, whatif };
const VIEWS = { ...TABS, search };
const LIVE_MS = 5000;
const answer = document.getElementById("answer");
const slider = document.getElementById("slider");
const when = document.getElementById("when");
const at = document.getElementById("at");
const said = document.getElementById("said");
let drawn = 0;
let me = null;

function state() {
  return Object.fromEntries(new URLSearchParams(location.search));
}

function address(changes) {
  const merged = { ...state(), ...changes };
  return `?${new URLSearchParams(Object.entries(merged).filter(([, value]) => value))}`;
}

function go(changes, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", address(changes));
  drawAndGoOn();
}

// The form, button or link that was used may be gone, or disabled: who uses keys goes on from the answer.
function drawAndGoOn() {
  draw().then(() => {
    const focused = document.activeElement;
    if (focused === document.body || focused.disabled) answer.focus();
  });
}

function tabs(current) {
  document.getElementById("views").replaceChildren(
    ...Object.entries(TABS).map(([name, view]) =>
      element("li", {}, element("a", { href: address({ view: name }), "aria-current": name === current ? "page" : null }, view.title))),
  );
}

// The time of a moment given as an event, 41 or of several partitions 1/41; users who may not list all events see the number alone.
async function timeOf(asOf) {
  if (!/^(\d+\/)?\d+$/.test(asOf ?? "")) return "";
  const [events] = await perhaps(ask("events", asOf.includes("/") ? { asOf, limit: 1 } : { after: String(asOf - 1), limit: 1 }));
  return events?.[0]?.at ?? "";
}

// Of several partitions the slider takes times: each counts its own events.
const seconds = (time) => Date.parse(time) / 1000;
const timeAt = (value) => `${new Date(value * 1000).toISOString().slice(0, 19)}Z`;
let several = false;

function slide(ledger, asOf, time) {
  slider.min = several ? seconds(ledger.firstAt) : 1;
  slider.max = several ? seconds(ledger.headAt) : ledger.headSeq;
  slider.step = 1;
  if (document.activeElement === slider && asOf) return;
  const moment = several ? seconds(time || (/^\d{4}-/.test(asOf) ? asOf : "")) : asOf;
  slider.value = asOf && !Number.isNaN(Number(moment)) ? moment : slider.max;
}

// Said beside the slider, and by it to those who cannot see that.
function tell(words) {
  when.textContent = words;
  slider.setAttribute("aria-valuetext", words);
}

async function moment(asOf) {
  const [ledger, time] = await Promise.all([ask("ledger"), timeOf(asOf)]);
  several = Boolean(ledger.partitions);
  const number = /^(\d+\/)?\d+$/.test(asOf ?? "");
  slide(ledger, asOf, time);
  if (document.activeElement !== at) at.value = (number ? time : asOf ?? "").slice(0, 19).replace("Z", "");
  tell(number ? `after event ${asOf} of ${ledger.headSeq}${time ? `, ${clock(time)} UTC` : ""}` : asOf ? `as it was: ${asOf}` : `now: ${ledger.headSeq} events, ${clock(ledger.headAt)} UTC`);
  document.getElementById("now").disabled = !asOf;
}

function login(message) {
  const form = element("form", { onsubmit: (event) => {
    event.preventDefault();
    token.set(new FormData(form).get("token").trim());
    me = null;
    drawAndGoOn();
  } },
  element("label", { for: "token" }, "Token"),
  element("input", { id: "token", name: "token", type: "password", autocomplete: "off", required: true }),
  element("button", { class: "main" }, "Sign in"));
  answer.replaceChildren(element("h2", {}, "Who asks?"), element("p", { class: "wrong", role: "alert" }, message),
    element("p", {}, "Paste a token of this cluster, such as `kubectl create token NAME` prints. It is kept until this tab is closed."), form);
}

async function known() {
  me ??= await ask("me");
  return me;
}

function signed() {
  document.getElementById("who").replaceChildren(me.name === "local" ? "This machine" : `Signed in as ${me.name} `,
    me.name === "local" ? "" : element("button", { type: "button", onclick: () => { token.set(""); me = null; drawAndGoOn(); } }, "Sign out"));
}

// The user types or marks something in the answer, or stands in it with the keys.
function isUsed() {
  return (answer.contains(document.activeElement) && document.activeElement !== answer) || !document.getSelection().isCollapsed;
}

// A live view is drawn anew without a word to screen readers, and stays as its user left it.
async function draw(live = false) {
  const turn = ++drawn;
  const now = state();
  const name = VIEWS[now.view] ? now.view : "job";
  document.title = `${VIEWS[name].title} – Tidegate`;
  tabs(name);
  answer.setAttribute("aria-busy", "true");
  const asked = [moment(now.asOf), known(), VIEWS[name].view(now, go)];
  try {
    const [, , made] = await Promise.all(asked);
    if (turn !== drawn || (live && isUsed())) return;
    signed();
    const restore = live ? kept(answer) : () => {};
    answer.replaceChildren(...made.flat(9).filter(Boolean));
    restore();
    if (!live) said.textContent = answer.querySelector("h2")?.textContent ?? document.title;
  } catch (error) {
    if (turn !== drawn) return;
    if (error instanceof Refused && error.status === 401) login(token.get() ? error.message : "");
    else if (live) {
      await Promise.allSettled(asked);
      if (turn !== drawn) return;
      said.textContent = when.textContent = `not refreshed: ${error.message}`;
    }
    else answer.replaceChildren(element("h2", {}, VIEWS[name].title), element("p", { class: "wrong", role: "alert" }, error.message),
      ...(VIEWS[name].form ? [VIEWS[name].form(now, go)] : []));
  } finally {
    if (turn === drawn) answer.removeAttribute("aria-busy");
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='?']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  history.pushState(null, "", link.getAttribute("href"));
  draw().then(() => answer.focus());
});
slider.addEventListener("input", () => tell(several ? `as it was: ${timeAt(slider.value)}` : `after event ${slider.value} of ${slider.max}`));
slider.addEventListener("change", () => go({ asOf: slider.value === slider.max ? "" : several ? timeAt(slider.value) : slider.value }));
at.addEventListener("change", () => { if (at.value) go({ asOf: `${at.value.padEnd(19, ":00")}Z` }); });
document.getElementById("moment").addEventListener("submit", (event) => event.preventDefault());
document.getElementById("now").addEventListener("click", () => go({ asOf: "" }));
document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  go({ view: "search", text: new FormData(event.target).get("text") });
});
window.addEventListener("popstate", drawAndGoOn);
window.addEventListener("beforeprint", () => unfold(answer));
// A view of now is a live one, unless it is used, or its last answer is still awaited.
setInterval(() => {
  const waiting = answer.hasAttribute("aria-busy");
  if (!state().asOf && !document.hidden && !isUsed() && !waiting && ["queue", "cohorts"].includes(state().view)) draw(true);
}, LIVE_MS);
draw();
