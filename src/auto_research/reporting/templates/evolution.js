// Unpacks a trial's transcripts when it is opened. Whatever a run wrote reaches the page as text
// only: nothing here sets HTML.
"use strict";
(() => {
  const SYMBOLS = { success: "✓", failure: "✗", error: "!", none: "?" };

  async function unpack(script) {
    const bytes = Uint8Array.from(atob(script.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  }

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children.filter((child) => child !== null && child !== ""));
    return node;
  }

  function card(row) {
    const outcome = row.error ? "error" : row.success === null ? "none" : row.success ? "success" : "failure";
    const node = make("details", { class: "episode" },
      make("summary", {},
        make("span", { class: `cell ${outcome}` }, SYMBOLS[outcome]),
        make("span", { class: "name" }, row.episode),
        make("span", { class: "of" }, `${row.scenario}, task ${row.position + 1}`),
        make("span", { class: "spent" }, `${row.units.toLocaleString("en")} units, cost ${row.cost.toFixed(2)}`)));
    node.addEventListener("toggle", () => {
      if (!node.open || node.dataset.ready) return;
      node.append(body(row));
      node.dataset.ready = "yes";
    });
    return node;
  }

  function body(row) {
    const node = make("div", { class: "body" });
    const part = (title, ...children) => node.append(make("h3", {}, title), ...children);
    const block = (text) => make("pre", { tabindex: "0" }, text);
    const checks = Object.entries(row.checks).map(([name, ok]) => `${name.replaceAll("_", " ")}: ${ok ? "yes" : "no"}`);
    if (checks.length) part("Checks", make("p", {}, checks.join(", ")));
    if (row.error) part("Error", block(row.error));
    if (row.plan !== null) part(`Plan, ${row.plan.length} steps`, block(row.plan.map((step) => `(${step.join(" ")})`).join("\n")));
    if (row.answer !== null) part("Answer", block(row.answer));
    part("Transcript", ...row.transcript.map(({ at, text }) =>
      make("div", { class: "turn" }, make("span", { class: "at" }, at), block(text))));
    return node;
  }

  for (const trial of document.querySelectorAll("details.trial")) {
    trial.addEventListener("toggle", async () => {
      if (!trial.open || trial.dataset.filled) return;
      trial.dataset.filled = "yes";
      const packed = document.getElementById(`rows-${trial.dataset.hash}`);
      if (packed) trial.querySelector(".episodes").append(...(await unpack(packed)).map(card));
      trial.dataset.ready = "yes";
    });
  }
  document.documentElement.dataset.ready = "yes";
})();
