// Questions to the API beside this page, with the token of who sits here; it leaves with the tab.

const KEY = "tidegate-token";

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

const TRIES = 4;
const PAUSE_MS = 700;

// Who asks too much at once, or a server that has not read an event yet, is answered a moment later.
async function fetched(address, headers) {
  for (let tries = 1; ; tries += 1) {
    const answer = await fetch(address, { headers });
    if (![429, 503].includes(answer.status) || tries === TRIES) return answer;
    await new Promise((goOn) => setTimeout(goOn, PAUSE_MS * tries));
  }
}

export async function ask(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  const headers = token.get() ? { Authorization: `Bearer ${token.get()}` } : {};
  const answer = await fetched(`/v1/${path}${query.size ? `?${query}` : ""}`, headers);
  const body = await answer.json();
  if (!answer.ok) throw new Refused(answer.status, body.message ?? answer.statusText);
  return body;
}

const PAGE = 10000;
const MOST = 50000;

// All rows of a list, or of a longer one the first, as its property ``more`` says. Later parts are asked as of the
// first one's event, so that no row is shown twice or missed; a report has one part.
export async function listed(path, parameters = {}) {
  const rows = [];
  let offset = 0;
  let moment = {};
  do {
    const page = await ask(path, { limit: PAGE, ...parameters, ...moment, offset });
    rows.push(...page.items);
    offset = page.nextOffset;
    moment = { asOf: page.position || page.seq };
  } while (offset && rows.length < MOST && !parameters.limit);
  rows.more = Boolean(offset);
  return rows;
}

// What may be refused without spoiling the view: the reason stands in its place.
export async function perhaps(promise) {
  try {
    return [await promise, ""];
  } catch (error) {
    if (error instanceof Refused && error.status !== 401) return [null, error.message];
    throw error;
  }
}
