// The page of the workbench: it sends what is asked for, shows the sections as they come, and keeps all of it in its link.
"use strict";

const by = (id) => document.getElementById(id);
const TITLES = {
  rule: "Rule", tiers: "Tiers", verdict: "Verdict", statement: "Statement in Rocq", program: "Program",
  interpreter: "By the interpreter, array by array", search: "Search", candidates: "Candidates",
  derivation: "Derivation", egraph: "E-graph of the rules of the derivation", kernel: "Kernel, with what is claimed of it", roofline: "Roofline",
};
let ask = "rule";
let beginnings = null;
let running = null;

function about() {
  const python = by("language").value === "python";
  by("about").textContent = ask === "rule"
    ? "Pick a rule, or write one: each tier appears when it is done."
    : "Pick a program, or write one: it is interpreted, searched for, derived, compiled and timed.";
  const limits = beginnings && beginnings.limits;
  by("which").hidden = !(python && ask === "program");
  by("means").textContent = python && limits
    ? `Python runs on the machine that serves this page, in a process of its own: at most ${limits.seconds} s of processor time, `
      + `${limits.gigabytes} GB, no network, and no files but Python's own. That stops accidents; it is no jail. Run only what you have read.`
    : "";
}

function choose(what) {
  ask = what;
  for (const one of ["rule", "program"]) {
    const tab = by(`tab-${one}`);
    tab.setAttribute("aria-selected", String(one === what));
    tab.tabIndex = one === what ? 0 : -1;
  }
  by("form").setAttribute("aria-labelledby", `tab-${what}`);
  by("pick-rule").hidden = what !== "rule";
  for (const id of ["pick-program", "at", "for"]) by(id).hidden = what !== "program";
  about();
}

// What the form says, as the server reads it.
function request() {
  const source = by("source").value.trim() ? by("source").value : "";
  const language = by("language").value;
  if (ask === "rule") return source ? { ask, source, language } : { ask, name: by("rule").value.trim() };
  return { ask, source, language, name: by("name").value.trim(), sizes: by("sizes").value.trim(), target: by("target").value };
}

function remember() {
  history.replaceState(null, "", "#" + new URLSearchParams(request()));
}

function restore() {
  const from = new URLSearchParams(location.hash.slice(1));
  if (!from.has("ask")) return;
  choose(from.get("ask") === "program" ? "program" : "rule");
  by(ask === "rule" ? "rule" : "name").value = from.get("name") || "";
  by("source").value = from.get("source") || "";
  by("sizes").value = from.get("sizes") || "";
  if (from.get("language") === "python") by("language").value = "python";
  if (from.get("target") === "gpu") by("target").value = "gpu";
  about();
  if (by("source").value && by("language").value === "python") {
    by("progress").textContent = "This link brings Python. Read it; it runs when you press Run.";
  } else {
    run();
  }
}

function section(name) {
  const [base, number] = name.split(" ");
  let found = by(`section-${name.replace(" ", "-")}`);
  if (!found) {
    found = document.createElement("section");
    found.id = `section-${name.replace(" ", "-")}`;
    const title = document.createElement("h2");
    title.textContent = (TITLES[base] || base) + (number ? ` ${number}` : "");
    found.append(title, document.createElement("div"));
    by("output").append(found);
  }
  return found.lastElementChild;
}

function hear(event) {
  if (event.kind === "progress") {
    by("progress").textContent = event.text + " …";
  } else if (event.kind === "section") {
    const place = section(event.name);
    const open = [...place.querySelectorAll("details")].map((d) => d.open);
    place.innerHTML = event.html;
    place.querySelectorAll("details").forEach((d, i) => { d.open = Boolean(open[i]); });
  } else if (event.kind === "error") {
    fail(event.text);
  } else if (event.kind === "done") {
    by("progress").textContent = "done";
  }
}

function fail(text) {
  const said = document.createElement("p");
  said.className = "bad failed";
  said.setAttribute("role", "alert");
  said.textContent = text;
  by("output").append(said);
  by("progress").textContent = "stopped";
}

async function listen(body) {
  const decoder = new TextDecoder();
  let rest = "";
  for (const reader = body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop();
    for (const part of parts) hear(JSON.parse(part.replace(/^data: /, "")));
  }
}

async function run() {
  if (running) running.abort();
  const mine = running = new AbortController();
  by("output").replaceChildren();
  by("progress").textContent = "asking …";
  by("stop").disabled = false;
  by("output").setAttribute("aria-busy", "true");
  remember();
  try {
    const answer = await fetch("/ask", { method: "POST", body: JSON.stringify(request()), signal: mine.signal });
    if (answer.ok) await listen(answer.body);
    else fail((await answer.json()).error);
  } catch (error) {
    if (running === mine) fail(error.name === "AbortError" ? "stopped by you" : "the workbench does not answer");
  }
  if (running === mine) {
    running = null;
    by("stop").disabled = true;
    by("output").removeAttribute("aria-busy");
  }
}

// Something to begin with, where nothing was written that is somebody's own.
function offer() {
  if (!beginnings) return;
  const written = by("source").value;
  const known = Object.values(beginnings.python).concat(beginnings.printed).includes(written);
  if (written.trim() && !known) return;
  by("source").value = by("language").value === "python" ? beginnings.python[ask] : ask === "rule" ? beginnings.printed : "";
}

function begin(data) {
  beginnings = data;
  by("rules").append(...data.rules.map((name) => new Option(name, name)));
  by("begin").append(...Object.keys(data.programs).map((name) => new Option(name, name)));
  if (data.public) {
    by("language").querySelector("[value=python]").remove();
  }
  if (by("language").value === "python") offer(); // it was chosen before there was something to offer
  about();
}

by("form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
by("stop").addEventListener("click", () => running && running.abort());
by("source").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); }
});
by("rule").addEventListener("change", () => { by("source").value = ""; run(); });
by("begin").addEventListener("change", () => {
  const program = beginnings && beginnings.programs[by("begin").value];
  if (!program) return;
  by("language").value = "printed";
  by("source").value = program.source;
  by("sizes").value = program.sizes;
  about();
  run();
});
by("language").addEventListener("change", () => { offer(); about(); });
by("link").addEventListener("click", async () => {
  remember();
  try {
    await navigator.clipboard.writeText(location.href);
    by("linked").textContent = "copied";
  } catch (error) {
    by("linked").textContent = "the link is in the address bar";
  }
});
for (const what of ["rule", "program"]) {
  by(`tab-${what}`).addEventListener("click", () => { by("source").value = ""; choose(what); });
  by(`tab-${what}`).addEventListener("keydown", (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const other = what === "rule" ? "program" : "rule";
    by("source").value = "";
    choose(other);
    by(`tab-${other}`).focus();
  });
}
window.addEventListener("hashchange", restore);
choose("rule");
restore();
fetch("/begin").then((answer) => answer.json()).then(begin);
