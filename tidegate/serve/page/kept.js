// What a user did to an answer, kept while it is drawn anew: filters, whole tables, how far they were scrolled.

const FILTERS = "input[id^='filter-']";
const BUTTON = "button.more";
const named = (region) => region.getAttribute("aria-label");

export function kept(answer) {
  const filters = new Map([...answer.querySelectorAll(FILTERS)].map((one) => [one.id, one.value]));
  const regions = [...answer.querySelectorAll("[role='region']")];
  const scrolled = new Map(regions.map((one) => [named(one), one.scrollLeft]));
  const cut = new Set(regions.filter((one) => one.parentElement.querySelector(BUTTON)).map(named));
  return () => {
    for (const input of answer.querySelectorAll(FILTERS)) {
      if (!filters.get(input.id)) continue;
      input.value = filters.get(input.id);
      input.dispatchEvent(new Event("input"));
    }
    for (const region of answer.querySelectorAll("[role='region']")) {
      if (scrolled.has(named(region)) && !cut.has(named(region))) region.parentElement.querySelector(`:scope > p > ${BUTTON}`)?.click();
      region.scrollLeft = scrolled.get(named(region)) ?? 0;
    }
  };
}

// Paper has no buttons: all rows, and what is folded.
export function unfold(answer) {
  for (const button of answer.querySelectorAll(BUTTON)) button.click();
  for (const folded of answer.querySelectorAll("details")) folded.open = true;
}
