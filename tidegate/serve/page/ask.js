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

export async function ask(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  const headers = token.get() ? { Authorization: `Bearer ${token.get()}` } : {};
  const answer = await fetch(`/v1/${path}${query.size ? `?${query}` : ""}`, { headers });
  const body = await answer.json();
  if (!answer.ok) throw new Refused(answer.status, body.message ?? answer.statusText);
  return body;
}

export async function listed(path, parameters = {}) {
  return (await ask(path, { limit: 1000, ...parameters })).items;
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
