
// Lists the episodes and unpacks a transcript when it is opened. Whatever the run wrote reaches the
// page as text only: nothing here sets HTML.
"use strict";
(() => {
  const PHASES = ["training", "probes", "test"];
  const PAGE = 50;
  const BLOCK = 100; // episodes a block, as summary.py packs them
  const $ = (id) => document.getElementById(id);
  const blocks = document.querySelectorAll("script.block");
  const unpacked = new Map();
  let episodes = [];
  let shown = [];
  let page = 0;

  async function unpack(script) {
    const bytes = Uint8Array.from(atob(script.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  }

  async function row(n) {
    const block = Math.floor(n / BLOCK);
    if (!unpacked.has(block)) unpacked.set(block, unpack(blocks[block]));
    return (await unpacked.get(block))[n % BLOCK];
  }

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children.filter((child) => child !== null && child !== ""));
    return node;
  }

  const number = (x) => (x === null ? "–" : Number(x.toFixed(4)).toLocaleString("en"));
  const yes = (x) => (x === null || x === undefined ? "not judged" : x ? "yes" : "no");

  function entry([id, phase, scenario, position, success, error, units, cost, group, sibling, reward], n) {
    const outcome = error ? "error" : success === null ? "unjudged" : success ? "success" : "failure";
    return { n, id, phase: PHASES[phase], scenario, position, outcome, units, cost, group, sibling, reward };
  }

  function card(e) {
    const symbol = { success: "✓", failure: "✗", error: "!", unjudged: "?" }[e.outcome];
    const group = e.group === null ? "" : `, group ${e.group}, sibling ${e.sibling}`;
    const reward = e.reward === null ? "" : `reward ${number(e.reward)}, `;
    const node = make("details", { class: "episode", "data-n": e.n },
      make("summary", {},
        make("span", { class: `cell ${e.outcome}`, title: e.outcome }, symbol),
        make("span", { class: "name" }, e.id),
        make("span", { class: "of" }, `${e.scenario}, task ${e.position + 1}${group}`),
        make("span", { class: "spent" }, `${reward}${number(e.units)} units, cost ${e.cost.toFixed(2)}`)));
    node.addEventListener("toggle", async () => {
      if (!node.open || node.dataset.filled) return;
      node.dataset.filled = "yes";
      node.append(body(await row(e.n)));
      node.dataset.ready = "yes";
    });
    return node;
  }

  function body(r) {
    const node = make("div", { class: "body" }, make("p", {}, r.instruction));
    const part = (title, ...children) => node.append(make("h3", {}, title), ...children);
    const block = (text) => make("pre", { tabindex: "0" }, text);
    const checks = Object.entries(r.checks).map(([name, value]) => `${name.replaceAll("_", " ")}: ${yes(value)}`);
    const kinds = Object.entries(r.units_by_kind).map(([kind, units]) => `${kind} ${number(units)}`);
    part("Outcome", make("p", {}, [`success: ${yes(r.success)}`, ...checks, `agent's own check: ${yes(r.own_check)}`,
      ...(r.reward === null ? [] : [`reward: ${number(r.reward)}`, `advantage: ${number(r.advantage)}`])].join(", ")));
    part("Spending", make("p", {}, `${[`units ${number(r.units)}`, ...kinds].join(", ")}. Steps ${number(r.steps)}, ` +
      `tokens ${number(r.tokens)}, model calls ${number(r.model_calls)}.`));
    if (r.error) part("Error", block(r.error));
    if (r.choice.ranked.length) part("Skills", skills(r));
    if (r.changes.length) part("Library changes", make("ul", {}, ...r.changes.map(change)));
    if (r.plan !== null) part(`Plan, ${r.plan.length} steps`, block(r.plan.map((step) => `(${step.join(" ")})`).join("\n")));
    if (r.answer !== null) part("Answer", block(r.answer));
    part("Transcript", ...r.transcript.map(({ at, text }) =>
      make("div", { class: "turn" }, make("span", { class: "at" }, at), block(text))));
    return node;
  }

  function skillLink(id) {
    const code = make("code", {}, id);
    const version = $(`skill-${id}`);
    return version ? make("a", { href: `#skill-${id}` }, `${version.dataset.name} `, code) : code;
  }

  function skills(r) {
    return make("ul", {}, ...r.choice.ranked.map((id, i) => {
      const use = r.uses.find((candidate) => candidate.skill === id);
      const drawn = r.choice.propensities[i];
      const how = !use || !use.called ? "not called" : use.helped ? "called, helped" : "called, did not help";
      const words = [how, ...(use && !use.sound ? ["its code failed"] : []), ...(use && use.detail ? [use.detail] : []),
        ...(drawn === undefined ? [] : [`drawn with probability ${number(drawn)}`])];
      return make("li", {}, skillLink(id), ` ${words.join(", ")}`);
    }));
  }

  function change(c) {
    const from = c.bases.length ? ` from ${c.bases.join(", ")}` : "";
    return make("li", {}, `${c.op} `, skillLink(c.skill), `${from}${c.reason ? `: ${c.reason}` : ""}`);
  }

  function draw() {
    const from = page * PAGE;
    $("list").replaceChildren(...shown.slice(from, from + PAGE).map(card));
    const to = Math.min(shown.length, from + PAGE);
    $("shown").textContent = shown.length
      ? `${(from + 1).toLocaleString("en")} to ${to.toLocaleString("en")} of ${shown.length.toLocaleString("en")} episodes`
      : "No episode matches.";
    $("pager").hidden = shown.length <= PAGE;
    $("before").disabled = page === 0;
    $("after").disabled = to >= shown.length;
  }

  function filter() {
    const phase = $("filter-phase").value;
    const outcome = $("filter-outcome").value;
    const name = $("filter-name").value.toLowerCase();
    shown = episodes.filter((e) => (!phase || e.phase === phase) && (!outcome || e.outcome === outcome) &&
      (!name || `${e.id} ${e.scenario}`.toLowerCase().includes(name)));
    page = 0;
    draw();
  }

  function turn(by) {
    page += by;
    draw();
    $("episodes").scrollIntoView();
  }

  function follow() {
    const hash = decodeURIComponent(location.hash.slice(1));
    if (hash.startsWith("episode=")) return openEpisode(hash.slice("episode=".length));
    const target = hash && $(hash);
    if (!target) return;
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    target.scrollIntoView();
  }

  function openEpisode(id) {
    const wanted = episodes.find((e) => e.id === id);
    if (!wanted) return;
    if (!shown.includes(wanted)) {
      for (const name of ["filter-phase", "filter-outcome", "filter-name"]) $(name).value = "";
      filter();
    }
    page = Math.floor(shown.indexOf(wanted) / PAGE);
    draw();
    const node = $("list").querySelector(`[data-n="${wanted.n}"]`);
    node.open = true;
    node.scrollIntoView();
    node.querySelector("summary").focus({ preventScroll: true });
  }

  async function start() {
    episodes = (await unpack($("index"))).map(entry);
    $("filter").hidden = false;
    if (episodes.some((e) => e.phase === "test")) $("filter-phase").value = "test";
    for (const name of ["filter-phase", "filter-outcome"]) $(name).addEventListener("change", filter);
    $("filter-name").addEventListener("input", filter);
    $("filter").addEventListener("submit", (event) => event.preventDefault());
    $("before").addEventListener("click", () => turn(-1));
    $("after").addEventListener("click", () => turn(1));
    window.addEventListener("hashchange", follow);
    filter();
    follow();
    document.documentElement.dataset.ready = "yes";
  }

  start();
})();
