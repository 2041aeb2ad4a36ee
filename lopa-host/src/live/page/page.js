// Follows the server's events, and shows what they say.

import { Chart, make, number } from "./chart.js";
import { Network } from "./network.js";
import { Shared } from "./shared.js";

/** More rows than these are thinned, as the server does. */
const MOST_ROWS = 1200;

/** Charts: a title, and the columns in it. Other columns that are not counts get a chart of their own. */
const CHARTS = [
  ["Loss", ["outer_loss", "inner_loss"]],
  ["Accuracy", ["test_accuracy", "validation_accuracy", "train_accuracy"]],
  ["Distance from consensus", ["consensus", "tracking"]],
  ["Bytes sent", ["bytes"]],
  ["Chunks repaired", ["repaired"]],
];
const COUNTS = ["iteration", "inner_gradients", "hessian_vectors", "cross_vectors", "outer_gradients_inner", "outer_gradients_outer", "vectors", "floats", "frames", "fleet_seconds", "seconds"];
const TILES = ["outer_loss", "test_accuracy", "validation_accuracy", "consensus", "bytes", "fleet_seconds", "repaired", "vectors", "seconds"];
const MOST_TILES = 6;

const byId = (id) => document.getElementById(id);
const say = (id, words) => {
  if (byId(id).textContent !== words) byId(id).textContent = words;
};

/** Everything that is known. */
const now = { about: null, columns: [], rows: [], nodes: null, links: null, shared: null, round: 0, phase: "running", words: "" };
let connected = false;
let chosen = null;
const charts = new Map();
const pace = [];

const network = new Network(byId("network"), byId("legend"), choose);
const shared = new Shared(byId("shared"));

// Events. The browser comes back by itself, and says which event it has seen last; unless the server refuses.

let source = null;
function follow() {
  source?.close();
  source = new EventSource("events");
  source.addEventListener("whole", (event) => whole(JSON.parse(event.data)));
  source.addEventListener("step", (event) => step(JSON.parse(event.data)));
  source.addEventListener("open", () => {
    connected = true;
    header();
  });
  source.addEventListener("error", () => {
    connected = false;
    header();
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 2000);
  });
}

/** A new state of everything: the first one, or that of another run. */
function whole(state) {
  const other = !now.about || JSON.stringify(now.about) !== JSON.stringify(state.about);
  Object.assign(now, { columns: [], rows: [], nodes: null, links: null, shared: null, words: "" }, state);
  if (other) build();
  render(state);
}

/** News. */
function step(news) {
  if (!now.about) return;
  const { rows, ...rest } = news;
  Object.assign(now, { words: "" }, rest);
  if (rows) {
    now.rows.push(...rows);
    while (now.rows.length > MOST_ROWS) now.rows = now.rows.filter((_, at) => at % 2 === 0 || at === now.rows.length - 1);
  }
  render(news);
}

/** Builds what depends on the network alone. */
function build() {
  const { about } = now;
  document.title = `${about.title} – lopa`;
  say("title", about.title);
  say("subtitle", `${about.algorithm} · ${about.problem} · ${about.topology} of ${number(about.nodes)} nodes`);
  byId("progress").max = Math.max(about.rounds, 1);
  byId("too-large").hidden = about.places.length > 0;
  byId("network").hidden = byId("hint").hidden = byId("all").hidden = about.places.length === 0;
  const colours = [["state", "state"], ["round", "round"], ...about.values];
  byId("colour").replaceChildren(...colours.map(([name, title]) => make("option", { value: name }, title)));
  byId("colour").value = network.mode = "state";
  byId("shared-card").hidden = !about.shared;
  charts.clear();
  byId("charts").replaceChildren();
  pace.length = 0;
  choose(null);
  network.now = null;
  network.build(about);
  shared.build(about.shared);
  if (about.shared) {
    const shown = about.shared.elements < about.shared.of && about.shared.stride === 0 ? ` The first ${number(about.shared.elements)} of ${number(about.shared.of)} elements.` : "";
    const { title, words } = about.shared;
    const what = title.includes("mean over nodes") ? "Mean over nodes." : `${capital(title)}, mean over nodes.`;
    say("shared-words", `${what} ${words}${shown}`);
  }
  say("foot", `lopa ${about.version}, watched since ${new Date(1000 * about.since).toLocaleString("en-GB")}`);
}

/** Shows what is new. */
function render(news) {
  pace.push([performance.now(), now.round]);
  while (pace.length > 2 && pace[0][0] < performance.now() - 10_000) pace.shift();
  header();
  if (news.rows || news.columns) draw();
  if (news.nodes) {
    network.set(now.nodes, now.links);
    colours();
    details();
    table();
  }
  if (news.shared) shared.set(now.shared);
}

/** Offers only values that some node has. */
function colours() {
  for (const option of byId("colour").options) {
    const known = ["state", "round"].includes(option.value) || now.nodes.values[option.value];
    if (option.hidden === Boolean(known)) option.hidden = option.disabled = !known;
  }
}

const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);

function header() {
  const { about } = now;
  const over = now.phase !== "running";
  const phase = connected || over ? (about ? now.phase : "connecting") : about ? "disconnected" : "connecting";
  if (byId("phase").dataset.phase !== phase) {
    byId("phase").dataset.phase = phase;
    say("phase", phase);
  }
  byId("notice").hidden = !now.words;
  say("notice", now.words);
  if (!about) return;
  byId("progress").value = now.round;
  const [[since, first], [until, last]] = [pace[0] ?? [0, 0], pace.at(-1) ?? [0, 0]];
  const speed = until > since ? (1000 * (last - first)) / (until - since) : 0;
  let words = `${number(now.round)} of ${number(about.rounds)} rounds`;
  if (speed > 0 && !over && connected && pace.length > 3)
    words += ` · ${String(+speed.toPrecision(2))} per second · ${duration((about.rounds - now.round) / speed)} left`;
  say("rounds", words);
}

function duration(seconds) {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** Column by column: charts and the latest values. */
function draw() {
  const place = new Map(now.columns.map((column, at) => [column.name, at]));
  const points = (name) => now.rows.map((row) => [row[0], row[place.get(name)]]).filter(([, y]) => y !== null && y !== undefined);
  const grouped = CHARTS.flatMap(([, names]) => names);
  const own = now.columns.filter(({ name }) => !grouped.includes(name) && !COUNTS.includes(name));
  const all = [...CHARTS, ...own.map(({ name, title }) => [capital(title), [name]])];
  let before = null;
  for (const [title, names] of all) {
    const known = names.filter((name) => place.has(name) && points(name).length > 0);
    if (known.length === 0) continue;
    let chart = charts.get(title);
    if (!chart) {
      chart = new Chart(title);
      charts.set(title, chart);
      if (before) before.element.after(chart.element);
      else byId("charts").prepend(chart.element);
    }
    before = chart;
    const column = (name) => now.columns[place.get(name)];
    const series = known.map((name) => ({ title: column(name).title, points: points(name) }));
    chart.set(series, known.every((name) => column(name).logarithmic));
  }
  byId("no-charts").hidden = charts.size > 0;
  const latest = (name) => now.rows.at(-1)?.[place.get(name)];
  const tiles = TILES.filter((name) => latest(name) !== null && latest(name) !== undefined).slice(0, MOST_TILES);
  const tile = (name) => {
    const { title } = now.columns[place.get(name)];
    return make("div", { "data-column": name }, make("dt", {}, title), make("dd", {}, number(latest(name))));
  };
  byId("tiles").replaceChildren(...tiles.map(tile));
}

// A node.

function choose(node) {
  const before = chosen;
  chosen = node;
  byId("details").hidden = node === null;
  network.mark(node);
  details();
  if (node === null && before !== null && document.activeElement?.closest("#details")) network.move(before);
}

const links = (node) => now.about.links.map(([a, b], at) => [a, b, at]).filter(([a, b]) => a === node || b === node);

function details() {
  if (chosen === null || !now.nodes) return;
  const { nodes, about } = now;
  say("details-title", network.name(chosen));
  const dot = make("i");
  dot.style.background = `var(--${nodes.state[chosen]})`;
  const state = make("dd", {}, dot, nodes.state[chosen] ?? "unknown");
  const facts = [["State", state]];
  const add = (title, words) => facts.push([title, make("dd", {}, words)]);
  const elsewhere = nodes.state[chosen] === "elsewhere";
  if (nodes.why[chosen]) add(elsewhere ? "Where" : "Why", nodes.why[chosen]);
  const ahead = nodes.round[chosen] - Math.max(...nodes.round);
  if (!elsewhere) add("Round", `${number(nodes.round[chosen])} of ${number(about.rounds)}${ahead < 0 ? `, ${number(-ahead)} behind` : ""}`);
  for (const [name, title] of about.values) {
    const value = nodes.values[name]?.[chosen];
    if (value !== null && value !== undefined) add(capital(title), number(value));
  }
  const standing = nodes.neighbours[chosen];
  if (standing) add("Neighbours", `${standing[0]} met, ${standing[1]} dead, ${standing[2]} refused`);
  if (nodes.boots[chosen] !== null) add("Boots", number(nodes.boots[chosen]));
  const linked = links(chosen).map(([a, b, at]) => {
    const lost = now.links?.lost[at];
    const more = lost === null || lost === undefined ? "" : ` (${(100 * lost).toPrecision(2)} % lost)`;
    return `${a === chosen ? b : a}${more}`;
  });
  add("Linked with", linked.join(", ") || "nobody");
  const list = make("dl", { class: "facts" }, ...facts.flatMap(([title, value]) => [make("dt", {}, title), value]));
  const counted = Object.entries(nodes.counters).filter(([, all]) => all[chosen]);
  const counters = counted.map(([name, all]) => [make("dt", {}, capital(name.replaceAll("_", " "))), make("dd", {}, number(all[chosen]))]);
  const more = counters.length > 0 ? [make("h3", {}, "Counters of its links"), make("dl", { class: "facts" }, ...counters.flat())] : [];
  byId("details-body").replaceChildren(list, ...more);
}

/** All nodes, if the table is open. */
function table() {
  if (!byId("all").open || !now.nodes) return;
  const { nodes, about } = now;
  const values = about.values.filter(([name]) => nodes.values[name]);
  const counters = ["repaired", "corrupt", "epochs"].filter((name) => nodes.counters[name]);
  const head = ["node", "state", "round", ...values.map(([, title]) => title), ...counters];
  const row = (node) => {
    const cells = [network.name(node).slice(5), nodes.state[node], nodes.state[node] === "elsewhere" ? "" : number(nodes.round[node])];
    for (const [name] of values) cells.push(number(nodes.values[name][node]));
    for (const name of counters) cells.push(number(nodes.counters[name][node]));
    return make("tr", {}, ...cells.map((cell) => make("td", {}, cell)));
  };
  const heads = make("tr", {}, ...head.map((title) => make("th", { scope: "col" }, title)));
  const rows = nodes.state.map((_, node) => row(node));
  byId("table").replaceChildren(make("table", {}, make("thead", {}, heads), make("tbody", {}, ...rows)));
}

byId("all").addEventListener("toggle", table);
byId("close").addEventListener("click", () => choose(null));
byId("details").addEventListener("keydown", (event) => event.key === "Escape" && choose(null));
byId("colour").addEventListener("change", (event) => {
  network.mode = event.target.value;
  network.update();
});
follow();
