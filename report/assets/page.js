"use strict";
// The page of flagos-trace report. Names come from traces, which anybody may have
// written: they become text (textContent, fillText) and never markup.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const root = document.documentElement;

// ---------------------------------------------------------------- elements, numbers

// el makes an element: attributes, then texts and elements inside it.
function el(tag, attrs, ...inside) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs || {})) {
    if (v === null || v === undefined || v === false) continue;
    if (k === "class") e.className = v;
    else if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (k === "style") for (const [p, s] of Object.entries(v)) e.style.setProperty(p, s);
    else e.setAttribute(k, v === true ? "" : v);
  }
  for (const i of inside.flat(Infinity)) if (i !== null && i !== undefined && i !== false) e.append(i);
  return e;
}

const group = new Intl.NumberFormat("en-US");
const digits = (v, n) => Math.abs(v) >= 100 ? v.toFixed(Math.max(0, n - 2)) : Math.abs(v) >= 10 ? v.toFixed(n - 1) : v.toFixed(n);

function ns(v) {
  const a = Math.abs(v);
  if (a < 1e3) return Math.round(v) + " ns";
  if (a < 1e6) return digits(v / 1e3, 2) + " µs";
  if (a < 1e9) return digits(v / 1e6, 2) + " ms";
  return digits(v / 1e9, 2) + " s";
}
function bytes(v) {
  const a = Math.abs(v);
  if (a < 1024) return v + " B";
  for (const [u, n] of [["KiB", 2 ** 10], ["MiB", 2 ** 20], ["GiB", 2 ** 30]]) if (a < n * 1024) return digits(v / n, 2) + " " + u;
  return digits(v / 2 ** 40, 2) + " TiB";
}
const rate = v => v >= 1e9 ? digits(v / 1e9, 2) + " GB/s" : v >= 1e6 ? digits(v / 1e6, 2) + " MB/s" : digits(v / 1e3, 2) + " kB/s";
const share = v => digits(v * 100, 2) + " %";
const number = v => Number.isInteger(v) ? group.format(v) : digits(v, 2);

// show prints a value of a unit; unknown is a dash.
function show(v, unit) {
  if (v === null || v === undefined) return "–";
  switch (unit) {
    case "ns": return ns(v);
    case "B": return bytes(v);
    case "B/s": return rate(v);
    case "share": return share(v);
    case "1": return number(v);
  }
  return typeof v === "number" ? number(v) : v;
}
// exact is what stands in a title: all digits.
function exact(v, unit) {
  if (v === null || v === undefined) return "not known";
  if (typeof v !== "number") return v;
  return group.format(v) + ({ ns: " ns", B: " bytes", "B/s": " bytes/s" }[unit] || "");
}
const plural = (n, one, more) => group.format(n) + " " + (n === 1 ? one : more || one + "s");

// ---------------------------------------------------------------- theme

let color = {};
const repaint = [];
const kinds = ["compute", "communication", "copy", "fill"];
function readColors() {
  const css = getComputedStyle(root);
  color = {};
  for (const n of ["bg", "panel", "line", "text", "soft", "accent", "hover", "compute", "communication", "copy", "fill", "overlap", "idle", "host", "step", "operator", "annotation", "good", "bad"])
    color[n] = css.getPropertyValue("--" + n).trim();
  shades.clear();
}
const shades = new Map();
// shade varies a color a little by a number, so that neighbours can be told apart.
function shade(name, by) {
  const key = name + (by % 5);
  let c = shades.get(key);
  if (!c) {
    const hex = color[name].slice(1), f = 1 + ((by % 5) - 2) * 0.09;
    const part = i => Math.min(255, Math.round(parseInt(hex.slice(i, i + 2), 16) * f));
    c = `rgb(${part(0)},${part(2)},${part(4)})`;
    shades.set(key, c);
  }
  return c;
}
const stored = { get() { try { return localStorage.getItem("flagos-trace-theme"); } catch { return null; } },
  set(v) { try { localStorage.setItem("flagos-trace-theme", v); } catch { /* a file may have no storage */ } } };
const system = matchMedia("(prefers-color-scheme: dark)");
let theme = stored.get() || "auto";
function applyTheme() {
  root.dataset.theme = theme === "auto" ? (system.matches ? "dark" : "light") : theme;
  $("theme").textContent = theme;
  readColors();
  for (const f of repaint) f();
}
function nextTheme() {
  theme = { auto: "light", light: "dark", dark: "auto" }[theme] || "auto";
  stored.set(theme);
  applyTheme();
}
system.addEventListener("change", applyTheme);
$("theme").addEventListener("click", nextTheme);

// ---------------------------------------------------------------- sections, tip

const sections = [];
function section(id, title, ...inside) {
  const s = el("section", { id, "aria-labelledby": id + "-h" }, el("h2", { id: id + "-h" }, title), inside);
  $("main").append(s);
  $("nav").append(el("a", { href: "#" + id, title: "Key " + (sections.length + 1) }, title));
  sections.push(s);
  return s;
}
const tip = {
  at(event, lines) {
    const t = $("tip");
    t.replaceChildren(...lines.map((l, i) => el("div", { class: i === 0 ? "tip-name" : "soft" }, l)));
    t.hidden = false;
    const w = t.offsetWidth, h = t.offsetHeight;
    t.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - w - 6)) + "px";
    t.style.top = (event.clientY + 18 + h > innerHeight ? Math.max(4, event.clientY - h - 10) : event.clientY + 18) + "px";
  },
  off() { $("tip").hidden = true; },
};
// sized makes a canvas sharp on screens of any density, and draws when it may be seen.
function sized(canvas, height, draw) {
  let pending = false;
  const paint = () => {
    pending = false;
    const w = canvas.clientWidth, h = height(), d = devicePixelRatio || 1;
    if (!w) return;
    if (canvas.width !== Math.round(w * d) || canvas.height !== Math.round(h * d)) {
      canvas.width = Math.round(w * d);
      canvas.height = Math.round(h * d);
    }
    canvas.style.height = h + "px";
    const g = canvas.getContext("2d");
    g.setTransform(d, 0, 0, d, 0, 0);
    g.clearRect(0, 0, w, h);
    draw(g, w, h);
  };
  const ask = () => { if (!pending) { pending = true; requestAnimationFrame(paint); } };
  new ResizeObserver(ask).observe(canvas);
  repaint.push(ask);
  return ask;
}
const sideTitle = s => s.label ? `${s.label}: ${s.files.length > 1 ? plural(s.files.length, "file") : s.files[0]}` : "";
const perSide = make => data.sides.length === 1 ? make(data.sides[0], 0) : el("div", { class: "sides" }, data.sides.map((s, i) => el("div", {}, el("h3", {}, sideTitle(s)), make(s, i))));

// ---------------------------------------------------------------- tables

// table shows rows that can be sorted, filtered and copied. columns: {key, title, unit, wide}.
function table(spec) {
  const columns = spec.columns, isText = c => !c.unit;
  let sort = null, wide = false, query = "", limit = 60;
  const head = el("thead"), body = el("tbody"), foot = el("tfoot");
  const t = el("table", { "data-table": spec.name }, head, body, foot);
  const status = el("span", { class: "soft", role: "status" });
  const more = el("button", { type: "button", onclick: () => { limit += 300; draw(); } }, "Show more");
  const search = el("input", { type: "search", placeholder: "Filter: text or /expression/", "aria-label": "Filter " + spec.title, "data-filter": spec.name });
  search.addEventListener("input", () => { query = search.value; limit = 60; draw(); });
  const controls = el("div", { class: "controls" }, search);
  if (columns.some(c => c.wide)) {
    const b = el("button", { type: "button", "aria-pressed": "false" }, "All columns");
    b.addEventListener("click", () => { wide = !wide; b.setAttribute("aria-pressed", wide); draw(); });
    controls.append(b);
  }
  const copy = el("button", { type: "button", title: "All rows that the filter leaves, as CSV, numbers as they are" }, "Copy CSV");
  copy.addEventListener("click", () => copyText(csv(shownColumns(), rows()), copy));
  controls.append(copy, el("span", { class: "grow" }), status);
  const shownColumns = () => columns.map((c, i) => ({ ...c, i })).filter(c => wide || !c.wide);

  function matcher() {
    const q = query.trim();
    if (!q) return () => true;
    if (q.length > 2 && q.startsWith("/") && q.endsWith("/")) {
      try {
        const re = new RegExp(q.slice(1, -1), "i");
        search.setCustomValidity("");
        return s => re.test(s);
      } catch { search.setCustomValidity("This is no regular expression."); }
    }
    const low = q.toLowerCase();
    return s => s.toLowerCase().includes(low);
  }
  function rows() {
    const match = matcher();
    let list = query.trim() ? spec.rows.filter(r => columns.some((c, i) => isText(c) && typeof r[i] === "string" && match(r[i]))) : spec.rows;
    if (sort) {
      const { i, down } = sort;
      list = [...list].sort((a, b) => {
        const x = a[i], y = b[i];
        if (x === y) return 0;
        if (x === null || x === undefined) return 1; // unknown last, whichever way
        if (y === null || y === undefined) return -1;
        const c = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
        return down ? -c : c;
      });
    }
    return list;
  }
  function draw() {
    const shown = shownColumns(), list = rows();
    head.replaceChildren(el("tr", {}, shown.map(c => {
      const on = sort && sort.i === c.i;
      const b = el("button", { type: "button", "data-sort": c.key, title: "Sort by " + c.title }, c.title + (on ? (sort.down ? " ▾" : " ▴") : ""));
      b.addEventListener("click", () => {
        const first = !isText(c); // numbers begin with the largest
        sort = on ? (sort.down === first ? { i: c.i, down: !first } : null) : { i: c.i, down: first };
        draw();
        head.querySelector(`[data-sort="${CSS.escape(c.key)}"]`).focus();
      });
      return el("th", { scope: "col", class: isText(c) ? "t" : "", "aria-sort": on ? (sort.down ? "descending" : "ascending") : "none" }, b);
    })));
    body.replaceChildren(...list.slice(0, limit).map(r => {
      const tr = el("tr", spec.open ? { tabindex: 0, title: spec.openTitle } : {}, shown.map(c => cell(r[c.i], c, spec.render)));
      if (spec.open) {
        tr.addEventListener("click", () => spec.open(r));
        tr.addEventListener("keydown", e => { if (e.key === "Enter") spec.open(r); });
      }
      return tr;
    }));
    const filtered = query.trim() !== "";
    if (spec.sums && spec.sums.some(v => v !== null)) {
      foot.replaceChildren(el("tr", {}, shown.map((c, k) => {
        const of = spec.sums[c.i];
        if (of === null) return el("td", { class: isText(c) ? "t" : "" }, k === 0 ? (filtered ? "sum of what is shown" : "sum of all") : "");
        const v = filtered ? list.reduce((s, r) => s + (r[c.i] || 0), 0) : of;
        return el("td", { title: exact(v, c.unit), "data-sum": c.key, "data-value": v }, show(v, c.unit));
      })));
    }
    const all = spec.of || spec.rows.length;
    status.textContent = filtered ? `${group.format(list.length)} of ${plural(spec.rows.length, "row")}` : plural(all, "row") + (all > spec.rows.length ? `, the first ${group.format(spec.rows.length)} of them here` : "");
    more.hidden = list.length <= limit;
    more.textContent = `Show more (${group.format(Math.max(0, list.length - limit))})`;
  }
  draw();
  return el("div", {}, spec.note ? el("p", { class: "note" }, spec.note) : null, controls, el("div", { class: "tablewrap", tabindex: -1 }, t), el("p", {}, more));
}
function cell(v, c, render) {
  const custom = render && render(v, c);
  if (custom) return custom;
  if (!c.unit) return el("td", { class: "t", title: v === null ? null : v }, v === null || v === "" ? (c.key === "name" ? "(outside of all)" : "") : v);
  const td = el("td", { title: exact(v, c.unit), "data-value": v === null ? null : v }, show(v, c.unit));
  if (c.unit === "share" && v !== null) {
    td.className = "share";
    td.style.setProperty("--w", Math.min(100, Math.max(0, v * 100)) + "%");
  }
  return td;
}
function csv(columns, rows) {
  // A text that a spreadsheet would take for a formula gets a quote in front.
  const field = v => {
    if (v === null || v === undefined) return "";
    const s = typeof v === "string" && /^[=+@-]/.test(v) ? "'" + v : String(v);
    return /[",\n\r]/.test(s) ? '"' + s.replaceAll('"', '""') + '"' : s;
  };
  return [columns.map(c => c.key), ...rows.map(r => columns.map(c => r[c.i]))].map(r => r.map(field).join(",")).join("\n") + "\n";
}
async function copyText(text, button) {
  const was = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    const area = el("textarea", { style: { position: "fixed", opacity: "0" } });
    area.value = text;
    document.body.append(area);
    area.select();
    button.textContent = document.execCommand("copy") ? "Copied" : "Not allowed";
    area.remove();
  }
  setTimeout(() => { button.textContent = was; }, 1500);
}
// tabs shows one of several things at a time. items: {title, make}.
function tabs(items, label) {
  const list = el("div", { class: "controls", role: "tablist", "aria-label": label }), panel = el("div", { role: "tabpanel" });
  const built = [];
  const choose = i => {
    built[i] = built[i] || items[i].make();
    panel.replaceChildren(built[i]);
    [...list.children].forEach((b, k) => { b.setAttribute("aria-selected", k === i); b.tabIndex = k === i ? 0 : -1; });
  };
  items.forEach((item, i) => list.append(el("button", { type: "button", role: "tab", "data-tab": item.name || item.title, onclick: () => choose(i) }, item.title)));
  list.addEventListener("keydown", e => {
    const i = [...list.children].indexOf(document.activeElement), d = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!d || i < 0) return;
    const to = (i + d + items.length) % items.length;
    choose(to);
    list.children[to].focus();
    e.preventDefault();
  });
  if (items.length) choose(0);
  return el("div", {}, list, panel);
}

// ---------------------------------------------------------------- overview

const busyParts = [["compute_ns", "compute", "compute"], ["compute_and_communication_ns", "compute and communication", "overlap"], ["communication_ns", "communication alone (exposed)", "communication"],
  ["compute_and_copy_ns", "compute and copies", "compute"], ["copy_ns", "copies alone", "copy"], ["communication_and_copy_ns", "communication and copies", "communication"],
  ["compute_communication_and_copy_ns", "all three", "overlap"]];
const idleParts = [["waiting_for_host_ns", "idle: waiting for the host"], ["in_launch_ns", "idle: in launch"], ["waiting_for_other_stream_ns", "idle: waiting for another stream"],
  ["between_queued_work_ns", "idle: between queued work"], ["unknown_ns", "idle: not known why"], ["at_start_ns", "idle: at the start"], ["at_end_ns", "idle: at the end"]];
const fadeOf = { compute_and_copy_ns: .7, communication_and_copy_ns: .7, compute_communication_and_copy_ns: .7 };

function stack(device, label) {
  const parts = [...busyParts.map(([k, t, c]) => ({ t, v: device.busy[k] || 0, c: `var(--${c})`, o: fadeOf[k] || 1, k })),
    ...idleParts.map(([k, t], i) => ({ t, v: device.idle[k] || 0, c: "var(--soft)", o: .55 - i * .07, k }))].filter(p => p.v > 0);
  return el("div", {}, label ? el("h3", {}, label) : null,
    el("div", { class: "stack", role: "img", "aria-label": "How the window divides" }, parts.map(p => el("span", { title: `${p.t}: ${ns(p.v)} (${share(p.v / device.window_ns)})`, style: { width: 100 * p.v / device.window_ns + "%", background: p.c, opacity: p.o } }))),
    el("ul", { class: "legend" }, parts.map(p => el("li", { title: exact(p.v, "ns") }, el("i", { style: { background: p.c, opacity: p.o } }), p.t + " ", el("b", { "data-key": p.k, "data-value": p.v }, ns(p.v)), ` ${share(p.v / device.window_ns)}`))));
}
function card(title, value, unit, key, small) {
  return el("dl", { class: "card" }, el("dt", {}, title), el("dd", { title: exact(value, unit), "data-key": key, "data-value": value }, show(value, unit), small ? el("small", {}, small) : null));
}
// completenessOf says what is known of a trace's completeness: its own record, and whether all of the file could be read.
function completenessOf(t) {
  const f = t.findings || {}, unread = f.truncated || f["compressed-data"] || f["unreadable-event"];
  return unread ? "incomplete: a part of the file could not be read" : t.completeness ? t.completeness.verdict : "no record";
}
function verdictOf(side) {
  const of = side.summary.traces.map(completenessOf);
  const kinds = [...new Set(of)];
  const text = kinds.map(k => of.length > 1 ? `${k} (${of.filter(o => o === k).length})` : k).join(", ");
  return el("dl", { class: "card" }, el("dt", {}, "completeness"), el("dd", { class: kinds.some(k => k.startsWith("incomplete")) ? "bad" : kinds.every(k => k === "complete") ? "good" : "warn" }, text));
}
function countFindings(side) {
  const n = { error: 0, warning: 0, note: 0 };
  for (const f of side.findings || []) for (const c of f.counts) n[c.severity] += c.count;
  return n;
}
function overview(side) {
  const s = side.summary, w = s.whole, cards = el("div", { class: "cards" });
  if (s.device_work) cards.append(card("device work", s.device_work.device_ns, "ns", "device_work.device_ns", plural(s.device_work.count, "kernel, copy, fill", "kernels, copies, fills")));
  if (w) {
    const overlap = w.busy.compute_and_communication_ns + w.busy.compute_communication_and_copy_ns;
    const idle = w.window_ns - w.busy_ns, inner = w.window_ns - w.idle.at_start_ns - w.idle.at_end_ns;
    const devices = s.traces.reduce((n, t) => n + t.devices.length, 0);
    cards.append(card("window of devices", w.window_ns, "ns", "whole.window_ns", plural(devices, "device") + ", " + plural(w.streams, "stream")),
      card("busy", w.busy_ns, "ns", "whole.busy_ns", share(w.busy_ns / w.window_ns) + " of the window"),
      card("idle", idle, "ns", "idle", share(idle / w.window_ns) + " of the window"));
    if (w.launches > 0 && inner > 0) cards.append(card("launch-bound", (w.idle.waiting_for_host_ns + w.idle.in_launch_ns) / inner, "share", "launch_bound", "waiting for host or launch, from first to last work"));
    const comm = w.busy.communication_ns + overlap + w.busy.communication_and_copy_ns;
    if (comm > 0) cards.append(card("exposed communication", w.busy.communication_ns, "ns", "whole.busy.communication_ns", share(overlap / comm) + " of communication behind compute"));
    if (w.launches > 0) cards.append(card("launch delay", w.launch_delay_ns / w.launches, "ns", "launch_delay", "mean of " + plural(w.launches, "launch", "launches")));
  }
  if (s.occupancy && s.occupancy.calculable > 0) cards.append(card("occupancy lost", s.occupancy.lost_ns, "ns", "occupancy.lost_ns", share(s.occupancy.lost_ns / s.occupancy.calculable_ns) + " of kernels' time, by the model"));
  cards.append(verdictOf(side));
  if (side.findings) {
    const n = countFindings(side);
    cards.append(el("dl", { class: "card" }, el("dt", {}, "findings"), el("dd", { class: n.error ? "bad" : n.warning ? "warn" : "good" }, n.error + n.warning + n.note ? `${n.error} / ${n.warning} / ${n.note}` : "none", el("small", {}, "errors / warnings / notes"))));
  }
  const wrong = s.checks.filter(c => c.sum_ns !== c.total_ns);
  const box = el("div", {}, s.selected ? el("p", { class: "note" }, "Selected: " + s.selected) : null, cards);
  if (w) {
    box.append(stack(w, ""));
    const devices = s.traces.flatMap(t => t.devices.map(d => [d, (t.rank !== undefined ? `rank ${t.rank}, ` : s.traces.length > 1 ? t.name + ", " : "") + "device " + d.device + (d.name ? ` (${d.name})` : "")]));
    if (devices.length > 1) box.append(el("details", {}, el("summary", {}, "By device"), devices.map(([d, l]) => stack(d, l))));
  } else box.append(el("p", {}, "There is no device work in the trace."));
  box.append(el("table", { class: "plain" }, el("thead", {}, el("tr", {}, ["trace", "producer", "host", "window", "events", "completeness"].map((h, i) => el("th", { scope: "col", class: i < 3 ? "t" : "" }, h)))),
    el("tbody", {}, s.traces.map(t => el("tr", {}, el("td", { class: "t" }, t.name + (t.rank !== undefined ? ` (rank ${t.rank})` : "")), el("td", { class: "t" }, [t.producer, t.version].filter(Boolean).join(" ") || "not known"),
      el("td", { class: "t" }, t.host || "–"), el("td", { title: exact(t.window_ns, "ns") }, ns(t.window_ns)), el("td", {}, group.format(t.events)), el("td", {}, completenessOf(t)))))));
  box.append(wrong.length ? el("p", { class: "bad" }, "Sums that should be equal are not: " + wrong.map(c => `${c.of} (${exact(c.sum_ns, "ns")}, not ${exact(c.total_ns, "ns")})`).join("; "))
    : el("p", { class: "note", "data-key": "checks" }, s.checks.length ? `${plural(s.checks.length, "sum")} checked and equal to the nanosecond: ${s.checks.map(c => c.of).join("; ")}.` : ""));
  if (s.missing.length) box.append(el("details", {}, el("summary", {}, `Not in ${s.traces.length > 1 ? "the traces" : "the trace"}: ${plural(s.missing.length, "thing")}`), el("ul", { class: "missing" }, s.missing.map(m => el("li", {}, m)))));
  return box;
}

// ---------------------------------------------------------------- time line

const PIECE = 6;
const nameIDs = new Map(data.names.map((n, i) => [n, i]));
const timelines = [];

function timeline(side, index) {
  // Rows of all traces, one below the other. Times of a row become absolute here.
  const rows = [], several = side.traces.length > 1;
  for (const t of side.traces) {
    if (several || t.devices.length > 1) rows.push({ title: t.name + (t.clock ? ` (clock ${t.clock}, by collectives)` : ""), h: 20 });
    for (const r of t.rows) {
      const n = r.pieces.length / PIECE, start = new Float64Array(n), end = new Float64Array(n);
      let at = t.offset_ns, longest = 0;
      for (let i = 0; i < n; i++) {
        at += r.pieces[i * PIECE];
        start[i] = at;
        end[i] = at + r.pieces[i * PIECE + 1];
        longest = Math.max(longest, end[i] - start[i]);
      }
      const d = t.devices[r.device];
      const label = (d ? `device ${d.label} · ` : "") + r.label;
      rows.push({ ...r, label, start, end, longest, n, h: r.kind === "stream" ? 24 : 18, trace: t });
    }
  }
  let y = 24;
  for (const r of rows) { r.y = y; y += r.h + 2; }
  const height = y + 2, gutter = 170, span = Math.max(1, side.span_ns);
  let from = 0, to = span, picked = null, lit = null, drag = null;
  const canvas = el("canvas", { class: "canvas", tabindex: 0, role: "application", "data-timeline": index,
    "aria-label": "Time line. w and s zoom, a and d pan, 0 shows all, arrows go from span to span, Enter zooms to the span." });
  const range = el("span", { class: "soft mono", "data-range": index });
  const detail = el("div", { class: "detail", role: "status" }, "Drag over a time to zoom in; point at a span, or press an arrow key.");
  const listeners = [];
  const X = (t, w) => gutter + (t - from) / (to - from) * (w - gutter);
  const T = x => from + (x - gutter) / (canvas.clientWidth - gutter) * (to - from);
  const value = (r, i, k) => r.pieces[i * PIECE + k];
  // first is the first piece that may reach into a time.
  function first(r, t) {
    let a = 0, b = r.n;
    t -= r.longest;
    while (a < b) { const m = (a + b) >> 1; if (r.start[m] < t) a = m + 1; else b = m; }
    return a;
  }
  const draw = sized(canvas, () => height, (g, w) => {
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    ruler(g, w);
    for (const r of rows) {
      if (r.title) {
        g.fillStyle = color.text;
        g.font = "600 12px system-ui, sans-serif";
        g.fillText(fitText(g, r.title, w - 12), 6, r.y + r.h / 2);
        g.font = "11px system-ui, sans-serif";
        continue;
      }
      g.fillStyle = color.soft;
      g.fillText(fitText(g, r.label, gutter - 12), 6, r.y + r.h / 2);
      g.fillStyle = r.kind === "stream" ? color.idle : color.panel;
      g.fillRect(gutter, r.y, w - gutter, r.h);
      g.save();
      g.beginPath();
      g.rect(gutter, r.y, w - gutter, r.h);
      g.clip();
      pieces(g, w, r);
      g.restore();
    }
    if (drag && drag.zoom) {
      g.fillStyle = color.accent;
      g.globalAlpha = .18;
      g.fillRect(Math.min(drag.x, drag.now), 24, Math.abs(drag.now - drag.x), height - 24);
      g.globalAlpha = 1;
    }
  });
  function ruler(g, w) {
    const want = (to - from) / Math.max(2, (w - gutter) / 110), power = 10 ** Math.floor(Math.log10(want));
    const step = Math.max(1, [1, 2, 5, 10].map(k => k * power).find(s => s >= want));
    g.strokeStyle = color.line;
    g.fillStyle = color.soft;
    g.beginPath();
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      const x = Math.round(X(t, w)) + .5;
      g.moveTo(x, 18);
      g.lineTo(x, height);
      g.fillText(tick(t, step), x + 3, 10);
    }
    g.stroke();
  }
  function tick(t, step) {
    const [u, n] = step >= 1e8 ? ["s", 1e9] : step >= 1e5 ? ["ms", 1e6] : step >= 100 ? ["µs", 1e3] : ["ns", 1];
    return (t / n).toFixed(Math.max(0, -Math.floor(Math.log10(step / n) + 1e-9))) + " " + u;
  }
  function pieces(g, w, r) {
    let last = -1;
    for (let i = first(r, from); i < r.n && r.start[i] < to; i++) {
      if (r.end[i] < from) continue;
      const x0 = Math.max(gutter - 2, X(r.start[i], w)), x1 = Math.min(w + 2, X(r.end[i], w)), px = Math.max(1, x1 - x0);
      if (x1 - x0 < 1 && Math.floor(x0) === last) continue;
      last = Math.floor(x0);
      const name = value(r, i, 2), k = value(r, i, 3), n = value(r, i, 4), covered = value(r, i, 5);
      const of = r.kind === "stream" ? kinds[k] : r.kind === "steps" ? "step" : "host";
      g.fillStyle = shade(of, r.kind === "steps" ? i % 2 * 2 : name);
      const dense = n > 1 ? Math.max(.35, covered / Math.max(1, r.end[i] - r.start[i])) : 1;
      g.globalAlpha = lit && !lit.has(name) ? .18 : dense;
      g.fillRect(x0, r.y, px, r.h);
      g.globalAlpha = 1;
      if (picked && picked.r === r && picked.i === i) {
        g.strokeStyle = color.text;
        g.lineWidth = 2;
        g.strokeRect(x0 + 1, r.y + 1, Math.max(1, px - 2), r.h - 2);
        g.lineWidth = 1;
      }
      if (px > 34 && !(lit && !lit.has(name))) {
        g.fillStyle = r.kind === "stream" ? "#fff" : color.text;
        g.fillText(fitText(g, data.names[name], px - 8), x0 + 4, r.y + r.h / 2 + .5);
      }
    }
  }
  function describe(r, i) {
    const n = value(r, i, 4), length = r.end[i] - r.start[i], name = data.names[value(r, i, 2)] || "(no name)";
    const what = r.kind === "stream" ? kinds[value(r, i, 3)] : r.kind === "steps" ? "step" : "host";
    if (n === 1) return [name, `${what}, ${r.label}`, `${ns(length)} from ${ns(r.start[i] - r.trace.offset_ns)} on`];
    return [`${group.format(n)} spans drawn as one`, `${r.label}, ${ns(length)} from ${ns(r.start[i] - r.trace.offset_ns)} on`, `they cover ${ns(value(r, i, 5))} of it; the longest: ${name}`];
  }
  function set(a, b, quiet) {
    const least = 20, width = Math.min(span, Math.max(least, b - a));
    a = Math.max(0, Math.min(span - width, a));
    from = a;
    to = a + width;
    range.textContent = `${ns(from)} – ${ns(to)} (${ns(to - from)})`;
    canvas.dataset.from = from;
    canvas.dataset.to = to;
    draw();
    if (!quiet) for (const f of listeners) f(from, to);
  }
  const zoom = (f, at = (from + to) / 2) => set(at - (at - from) * f, at + (to - at) * f);
  const pan = f => set(from + (to - from) * f, to + (to - from) * f);
  function pick(r, i, follow) {
    picked = { r, i };
    detail.replaceChildren(...describe(r, i).map((l, k) => el("div", { class: k ? "soft" : "mono" }, l)));
    if (follow && (r.end[i] < from || r.start[i] > to)) { const w = to - from, m = (r.start[i] + r.end[i]) / 2; set(m - w / 2, m + w / 2); }
    draw();
  }
  function hit(e) {
    const box = canvas.getBoundingClientRect(), px = e.clientX - box.left, py = e.clientY - box.top;
    const r = rows.find(r => !r.title && py >= r.y && py < r.y + r.h);
    if (!r || px < gutter) return null;
    const t = T(px), slack = (to - from) / (canvas.clientWidth - gutter);
    let best = null;
    for (let i = first(r, t - slack); i < r.n && r.start[i] <= t + slack; i++) {
      if (r.end[i] < t - slack) continue;
      const inside = r.start[i] <= t && t <= r.end[i];
      if (!best || inside || !best.inside) best = { r, i, inside };
    }
    return best;
  }
  canvas.addEventListener("pointerdown", e => {
    if (e.button !== 0) return;
    canvas.setPointerCapture(e.pointerId);
    const x = e.clientX - canvas.getBoundingClientRect().left;
    drag = { x, now: x, zoom: !e.shiftKey && x >= gutter, from, to, moved: false };
  });
  canvas.addEventListener("pointermove", e => {
    if (drag) {
      drag.now = Math.max(gutter, e.clientX - canvas.getBoundingClientRect().left);
      drag.moved = drag.moved || Math.abs(drag.now - drag.x) > 3;
      if (!drag.zoom && drag.moved) { const d = (drag.x - drag.now) / (canvas.clientWidth - gutter) * (drag.to - drag.from); set(drag.from + d, drag.to + d); }
      draw();
      tip.off();
      return;
    }
    const h = hit(e);
    if (h) tip.at(e, describe(h.r, h.i)); else tip.off();
  });
  canvas.addEventListener("pointerup", e => {
    const d = drag;
    drag = null;
    if (d && d.moved && d.zoom) set(T(Math.min(d.x, d.now)), T(Math.max(d.x, d.now)));
    else if (d && !d.moved) { const h = hit(e); if (h) pick(h.r, h.i); else { picked = null; draw(); } }
    draw();
  });
  canvas.addEventListener("pointerleave", tip.off);
  canvas.addEventListener("dblclick", () => set(0, span));
  canvas.addEventListener("wheel", e => {
    if (!(e.ctrlKey || e.metaKey || e.altKey || e.shiftKey)) return; // the page scrolls
    e.preventDefault();
    const d = e.deltaY || e.deltaX;
    if (e.shiftKey) pan(Math.sign(d) * .1); else zoom(d > 0 ? 1.25 : .8, Math.max(from, Math.min(to, T(e.clientX - canvas.getBoundingClientRect().left))));
  }, { passive: false });
  function step(d) {
    const r = picked ? picked.r : rows.find(r => r.kind === "stream" && r.n) || rows.find(r => r.n);
    if (!r) return;
    let i = picked ? picked.i + d : first(r, from);
    if (!picked) while (i < r.n - 1 && r.end[i] < from) i++;
    if (i >= 0 && i < r.n) pick(r, i, true);
  }
  function jump(d) {
    if (!picked) return step(1);
    const with_ = rows.filter(r => r.n), k = with_.indexOf(picked.r) + d, r = with_[k];
    if (!r) return;
    const t = picked.r.start[picked.i];
    let i = first(r, t);
    while (i < r.n - 1 && r.end[i] < t) i++;
    pick(r, i, true);
  }
  canvas.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const act = { w: () => zoom(.6), "+": () => zoom(.6), "=": () => zoom(.6), s: () => zoom(1 / .6), "-": () => zoom(1 / .6), a: () => pan(-.25), d: () => pan(.25), 0: () => set(0, span), Home: () => set(0, to - from), End: () => set(span - (to - from), span),
      ArrowRight: () => step(1), ArrowLeft: () => step(-1), ArrowDown: () => jump(1), ArrowUp: () => jump(-1), Escape: () => { picked = null; light(null); },
      Enter: () => { if (picked) { const a = picked.r.start[picked.i], b = picked.r.end[picked.i], m = (b - a) * .5 + 50; set(a - m, b + m); } } }[e.key];
    if (!act) return;
    e.preventDefault();
    e.stopPropagation();
    act();
  });
  function light(ids) { lit = ids; draw(); }
  const button = (text, title, f) => el("button", { type: "button", title, onclick: f, "data-do": title.split(" (")[0] }, text);
  const api = { side, canvas, set, light, on: f => listeners.push(f), get view() { return [from, to]; }, rows };
  timelines.push(api);
  set(0, span, true);
  const hidden = side.traces.reduce((n, t) => n + (t.hidden_threads || 0), 0);
  const coarse = Math.max(0, ...side.traces.map(t => t.resolution_ns));
  return el("div", {}, el("div", { class: "controls" }, button("−", "Zoom out (s)", () => zoom(1 / .6)), button("+", "Zoom in (w)", () => zoom(.6)), button("◂", "Earlier (a)", () => pan(-.25)), button("▸", "Later (d)", () => pan(.25)), button("All", "Show all (0)", () => set(0, span)), range,
    el("span", { class: "grow" }), el("ul", { class: "legend", style: { margin: "0" } }, kinds.map(k => el("li", {}, el("i", { style: { background: `var(--${k})` } }), k)), el("li", {}, el("i", { style: { background: "var(--idle)" } }), "idle"))),
    coarse ? el("p", { class: "note" }, `The trace is large: neighbours shorter than ${ns(coarse)} are drawn as one piece, which says how many spans it stands for. flagos-trace cut makes a trace of a part of it.`) : null,
    hidden ? el("p", { class: "note" }, `${plural(hidden, "host thread")} with fewer operators have no row.`) : null,
    several && !side.one_clock ? el("p", { class: "note" }, "The traces were not recorded at one time: each begins at 0.") : null,
    el("div", { class: "panel" }, canvas, detail));
}
function fitText(g, text, width) {
  if (width < 8) return "";
  if (text.length > 160) text = text.slice(0, 160);
  if (g.measureText(text).width <= width) return text;
  let a = 0, b = text.length;
  while (a < b) { const m = (a + b + 1) >> 1; if (g.measureText(text.slice(0, m) + "…").width <= width) a = m; else b = m - 1; }
  return a ? text.slice(0, a) + "…" : "";
}
function highlight(name) {
  const id = nameIDs.get(name);
  for (const t of timelines) t.light(id === undefined ? null : new Set([id]));
  if (id !== undefined) goTo("timeline");
}

// ---------------------------------------------------------------- flame graph

function flame() {
  const F = data.flame.frames, LEN = 9, n = F.length / LEN, two = data.sides.length > 1, H = 19;
  const children = Array.from({ length: n }, () => []), tops = [];
  for (let i = 0; i < n; i++) (F[i * LEN] < 0 ? tops : children[F[i * LEN]]).push(i);
  const metrics = [["device time", 0, "ns"], ["device spans", 1, "1"], ["CPU time", 2, "ns"]];
  const modes = two ? [["difference", -1], ["new", 0], ["base", 1]] : [["", 0]];
  let metric = 0, mode = modes[0][1], zoomed = -1, picked = -1, query = "", layout = [], depth = 1;
  const val = (i, side) => F[i * LEN + 3 + side * 3 + metrics[metric][1]];
  const width = i => mode < 0 ? val(i, 0) + val(i, 1) : val(i, mode);
  const name = i => data.names[F[i * LEN + 1]] || "(no name)", cls = i => data.flame.classes[F[i * LEN + 2]];
  const totalOf = side => tops.reduce((s, i) => s + val(i, side), 0);
  const canvas = el("canvas", { class: "canvas", tabindex: 0, role: "application", "data-flame": "", style: { cursor: "pointer" }, "aria-label": "Flame graph. Arrows go from frame to frame, Enter zooms in, Backspace out." });
  const detail = el("div", { class: "detail", role: "status" }, "Click a frame to zoom in; click the top, or press Escape, to zoom out.");
  const search = el("input", { type: "search", placeholder: "Find frames", "aria-label": "Find frames in the flame graph" });
  const hits = el("span", { class: "soft", role: "status" });
  search.addEventListener("input", () => { query = search.value.trim().toLowerCase(); count(); draw(); });
  const path = i => { const p = []; for (; i >= 0; i = F[i * LEN]) p.unshift(i); return p; };
  function count() {
    if (!query) { hits.textContent = ""; return; }
    // A frame inside one that is found counts with it.
    let sum = 0, frames = 0;
    const walk = (i, in_) => { const f = name(i).toLowerCase().includes(query); if (f) frames++; if (f && !in_) sum += width(i); for (const c of children[i]) walk(c, in_ || f); };
    for (const i of tops) walk(i, false);
    const all = tops.reduce((s, i) => s + width(i), 0);
    hits.textContent = `${plural(frames, "frame")}, ${all ? share(sum / all) : "0 %"}`;
  }
  function place() {
    layout = [];
    depth = 1;
    const put = (list, d, x, scale) => {
      for (const i of [...list].sort((a, b) => width(b) - width(a))) {
        const w = width(i) * scale;
        if (w <= 0) continue;
        if (w > 2e-4) { layout.push({ i, d, x, w }); depth = Math.max(depth, d + 1); put(children[i], d + 1, x, scale); }
        x += w;
      }
    };
    const list = zoomed < 0 ? tops : [zoomed], all = list.reduce((s, i) => s + width(i), 0);
    if (zoomed >= 0) path(F[zoomed * LEN]).forEach((i, d) => layout.push({ i, d, x: 0, w: 1, above: true }));
    const base = zoomed < 0 ? 0 : path(F[zoomed * LEN]).length;
    if (all > 0) put(list, base + 1, 0, 1 / all);
    for (const f of layout) if (f.above) f.d += 1;
    depth = Math.max(depth, 2);
    canvas.dataset.zoomed = zoomed;
    canvas.dataset.frames = layout.length;
    draw();
  }
  const palette = { operator: "operator", module: "overlap", annotation: "annotation", step: "step", call: "host", smaller: "idle", other: "host" };
  const fill = i => {
    const c = cls(i);
    if (mode < 0) {
      const b = val(i, 1), a = val(i, 0), whole = Math.max(a, b) || 1, d = (a - b) / whole;
      const hue = d > 0 ? 8 : 212, s = Math.min(1, Math.abs(d) * 1.6);
      return `hsl(${hue} ${Math.round(20 + 60 * s)}% ${root.dataset.theme === "dark" ? Math.round(30 + 14 * s) : Math.round(84 - 24 * s)}%)`;
    }
    return shade(kinds.includes(c) ? c : palette[c] || "host", kinds.includes(c) ? F[i * LEN + 1] : F[i * LEN + 1] + 1);
  };
  const draw = sized(canvas, () => (depth) * H + 2, (g, w) => {
    g.font = "11.5px system-ui, sans-serif";
    g.textBaseline = "middle";
    const rootText = `all: ${modes.length > 1 ? `new ${show(totalOf(0), metrics[metric][2])}, base ${show(totalOf(1), metrics[metric][2])}` : show(totalOf(0), metrics[metric][2])}`;
    g.fillStyle = color.panel;
    g.fillRect(0, 0, w, H - 1);
    g.fillStyle = color.text;
    g.fillText(rootText, 5, H / 2);
    for (const f of layout) {
      const x = f.x * w, px = f.w * w, y = f.d * H;
      if (px < .4) continue;
      const found = query && name(f.i).toLowerCase().includes(query);
      g.globalAlpha = f.above ? .55 : query && !found ? .3 : 1;
      g.fillStyle = fill(f.i);
      g.fillRect(x, y, Math.max(.6, px - .6), H - 1);
      g.globalAlpha = 1;
      if (f.i === picked) { g.strokeStyle = color.text; g.lineWidth = 2; g.strokeRect(x + 1, y + 1, Math.max(1, px - 2.6), H - 3); g.lineWidth = 1; }
      if (px > 26) { g.fillStyle = textOn(f.i); g.fillText(fitText(g, name(f.i), px - 8), x + 4, y + H / 2); }
    }
  });
  const textOn = i => mode < 0 || ["idle", "step"].includes(palette[cls(i)]) ? color.text : "#fff";
  function describe(i) {
    const u = metrics[metric][2], lines = [name(i), `${cls(i)}: ${path(i).slice(0, -1).map(name).join(" › ") || "at the top"}`];
    data.sides.forEach((s, k) => { const t = totalOf(k); lines.push(`${s.label ? s.label + ": " : ""}${show(val(i, k), u)}${t ? ` (${share(val(i, k) / t)})` : ""}, ${plural(F[i * LEN + 3 + k * 3 + 1], "device span")}`); });
    return lines;
  }
  const pick = i => { picked = i; detail.replaceChildren(...describe(i).map((l, k) => el("div", { class: k ? "soft" : "mono" }, l))); draw(); };
  const zoomTo = i => { zoomed = i; picked = i; if (i >= 0) pick(i); place(); };
  const hit = e => { const b = canvas.getBoundingClientRect(), x = (e.clientX - b.left) / b.width, d = Math.floor((e.clientY - b.top) / H); return d === 0 ? -1 : layout.find(f => f.d === d && x >= f.x && x < f.x + f.w); };
  canvas.addEventListener("pointermove", e => { const f = hit(e); if (f && f !== -1) tip.at(e, describe(f.i)); else tip.off(); });
  canvas.addEventListener("pointerleave", tip.off);
  canvas.addEventListener("click", e => { const f = hit(e); if (f === -1) zoomTo(-1); else if (f) zoomTo(f.i); });
  canvas.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const big = l => [...l].sort((a, b) => width(b) - width(a)).filter(i => width(i) > 0);
    const around = () => big(F[picked * LEN] < 0 ? tops : children[F[picked * LEN]]);
    const act = { ArrowDown: () => { const c = big(picked < 0 ? tops : children[picked]); if (c.length) pick(c[0]); }, ArrowUp: () => { if (picked >= 0 && F[picked * LEN] >= 0) pick(F[picked * LEN]); },
      ArrowRight: () => { if (picked < 0) return; const l = around(), k = l.indexOf(picked) + 1; if (l[k] !== undefined) pick(l[k]); }, ArrowLeft: () => { if (picked < 0) return; const l = around(), k = l.indexOf(picked) - 1; if (l[k] !== undefined) pick(l[k]); },
      Enter: () => { if (picked >= 0) zoomTo(picked); }, Backspace: () => zoomTo(zoomed < 0 ? -1 : F[zoomed * LEN]), Escape: () => zoomTo(-1) }[e.key];
    if (act) { e.preventDefault(); e.stopPropagation(); act(); }
  });
  const choice = (label, items, f) => el("select", { "aria-label": label, onchange: e => { f(+e.target.value); count(); place(); } }, items.map((t, i) => el("option", { value: i }, t)));
  const has = metrics.map((_, k) => { metric = k; return totalOf(0) > 0 || two && totalOf(1) > 0; });
  metric = Math.max(0, has.indexOf(true));
  const selectMetric = choice("What is shown", metrics.map(m => m[0]), v => { metric = v; });
  selectMetric.value = metric;
  place();
  return el("div", {}, el("p", { class: "note" }, two ? "Width: both sides together. Red became more, blue less. " : "", "Device time stands on the operator it belongs to; Python functions are left out (flagos-trace pprof has them)."),
    el("div", { class: "controls" }, selectMetric, two ? choice("Side", modes.map(m => m[0]), v => { mode = modes[v][1]; }) : null, search, hits, el("span", { class: "grow" }), el("button", { type: "button", onclick: () => zoomTo(-1) }, "Zoom out")),
    el("div", { class: "panel" }, canvas, detail));
}

// ---------------------------------------------------------------- charts over time

const charts = [];
function chart(host, title, opts, values) {
  const width = () => Math.max(200, host.clientWidth);
  const axis = { stroke: () => color.soft, grid: { stroke: () => color.line, width: 1 }, ticks: { stroke: () => color.line, width: 1 } };
  const u = new uPlot({ width: width(), height: 210, title: "", ms: 1, pxAlign: true, cursor: { sync: { key: opts.sync }, drag: { x: true, y: false } }, legend: { live: true }, bands: opts.bands,
    scales: { x: { time: false }, y: opts.y },
    axes: [{ ...axis, space: 90, values: (_, v) => v.map(t => t === null ? "" : ns(t)) }, { ...axis, size: 66, values: (_, v) => v.map(opts.axis) }],
    series: [{ label: "time", value: (_, v) => v === null ? "–" : ns(v) }, ...opts.series],
    hooks: { setScale: [(u, k) => { if (k === "x" && opts.zoomed) opts.zoomed(u.scales.x.min, u.scales.x.max); }] } }, values, host);
  host.setAttribute("role", "img");
  host.setAttribute("aria-label", title);
  charts.push({ u, host, sync: opts.sync });
  new ResizeObserver(() => { if (host.clientWidth && host.clientWidth !== u.width) u.setSize({ width: width(), height: 210 }); }).observe(host);
  repaint.push(() => { if (host.isConnected) u.redraw(false, true); });
  return u;
}
const alpha = (name, a) => { const h = color[name].slice(1); return `rgba(${parseInt(h.slice(0, 2), 16)},${parseInt(h.slice(2, 4), 16)},${parseInt(h.slice(4, 6), 16)},${a})`; };

function overTime(side, index) {
  const line = () => timelines[index];
  const choices = side.traces.flatMap((t, ti) => t.devices.map((d, di) => ({ t, d, label: (side.traces.length > 1 ? (side.summary.traces[ti] && side.summary.traces[ti].rank !== undefined ? `rank ${side.summary.traces[ti].rank}: ` : t.name + ": ") : "") + "device " + d.label + (d.name ? ` (${d.name})` : "") })));
  const box = el("div"), memoryOnly = side.traces.filter(t => t.memory && !t.devices.length);
  let quiet = false;
  const zoomed = (a, b) => { if (quiet || !line()) return; quiet = true; line().set(a, b, true); follow(a, b); quiet = false; };
  const follow = (a, b) => { for (const c of charts) if (c.side === side && c.host.isConnected) c.u.setScale("x", { min: a, max: b }); };
  const show_ = at => {
    quiet = true;
    for (let i = charts.length - 1; i >= 0; i--) if (charts[i].side === side) { charts[i].u.destroy(); charts.splice(i, 1); }
    const { t, d } = at, list = [];
    const holder = title => { const h = el("div"); list.push(el("h3", {}, title), h); return h; };
    const busyHost = d ? holder("Busy and idle, overlap") : null, occHost = d && d.occupancy ? holder("Occupancy of what ran, by the launch configurations") : null;
    const memHosts = (t.memory || []).map(m => [m, holder(`Memory: ${m.label}, peak ${bytes(m.peak_allocated)} allocated` + (m.peak_reserved ? `, ${bytes(m.peak_reserved)} reserved` : ""))]);
    box.replaceChildren(...list);
    if (d && !d.occupancy) box.append(el("p", { class: "note" }, "Occupancy could not be calculated" + missing(side, "occupancy")));
    if (!memHosts.length) box.append(el("p", { class: "note" }, "Memory was not recorded (torch.profiler: profile_memory=True)."));
    const key = "side" + index;
    const mine = (host, title, opts, values) => { chart(host, title, { ...opts, sync: key, zoomed }, values); charts[charts.length - 1].side = side; };
    if (d) {
      const x = Array.from({ length: d.bins + 1 }, (_, i) => t.offset_ns + Math.min(i * d.bin_ns, t.window_ns));
      const length = i => Math.min(d.bin_ns, t.window_ns - i * d.bin_ns);
      const parts = busyParts.filter(([k]) => d.busy[k]);
      const sum = new Array(d.bins).fill(0), stacks = parts.map(([k]) => { for (let i = 0; i < d.bins; i++) sum[i] += d.busy[k][i]; return sum.map((v, i) => v / length(i)); });
      for (const s of stacks) s.push(s[s.length - 1]); // a step ends where the window does
      const stepped = uPlot.paths.stepped({ align: 1 });
      // The highest is drawn first; what each adds stands between it and the one below.
      mine(busyHost, "Share of time in which the device was busy", { y: { range: [0, 1] }, axis: v => Math.round(v * 100) + " %",
        series: parts.map(([k, title, c]) => ({ label: title, fill: () => alpha(c, (fadeOf[k] || 1) * .85), paths: stepped, points: { show: false },
          value: (_, v, __, i) => i === null || i === undefined ? "–" : share((d.busy[k][Math.min(i, d.bins - 1)]) / length(Math.min(i, d.bins - 1))) })),
        bands: parts.slice(1).map((_, s) => ({ series: [s + 2, s + 1] })) }, [x, ...stacks]);
      if (occHost) {
        const o = d.occupancy, last = a => [...a, a[a.length - 1]];
        mine(occHost, "Occupancy", { y: { range: [0, 1] }, axis: v => Math.round(v * 100) + " %", series: [["theoretical", "theoretical", "soft"], ["resident", "resident (by full waves)", "compute"]].map(([k, l, c]) => ({ label: l, stroke: () => color[c], fill: k === "resident" ? () => alpha(c, .25) : undefined, width: 1.5, paths: stepped, points: { show: false }, value: (_, v) => v === null ? "–" : share(v) })) },
          [x, last(o.theoretical), last(o.resident)]);
        if (o.known_ns < o.kernels_ns) box.append(el("p", { class: "note" }, `Occupancy is of ${share(o.known_ns / o.kernels_ns)} of the kernels' time; of the rest it could not be calculated.`));
      }
    }
    for (const [m, host] of memHosts) {
      const stepped = uPlot.paths.stepped({ align: 1 }), one = (l, c, f) => ({ label: l, stroke: () => color[c], fill: f ? () => alpha(c, .2) : undefined, width: 1.5, paths: stepped, points: { show: false }, value: (_, v) => v === null ? "–" : bytes(v) });
      mine(host, "Memory", { y: { range: (_, a, b) => [0, b * 1.05 || 1] }, axis: bytes, series: [one("allocated", "overlap", true), ...(m.reserved ? [one("reserved", "soft")] : [])] },
        [m.at.map(a => a + t.offset_ns), m.allocated, ...(m.reserved ? [m.reserved] : [])]);
    }
    quiet = false;
    if (line()) follow(...line().view);
  };
  const all = [...choices, ...memoryOnly.map(t => ({ t, d: null, label: t.name }))];
  if (!all.length) return el("p", {}, "There is nothing to show over time.");
  const select = el("select", { "aria-label": "Device", onchange: e => show_(all[+e.target.value]) }, all.map((c, i) => el("option", { value: i }, c.label)));
  // Charts need a width, and cost time: they are made when they come into sight.
  let made = false;
  const make = () => { if (!made) { made = true; show_(all[0]); } };
  new IntersectionObserver((e, o) => { if (e.some(x => x.isIntersecting)) { o.disconnect(); make(); } }, { rootMargin: "600px" }).observe(box);
  if (line()) line().on((a, b) => { if (quiet) return; quiet = true; follow(a, b); quiet = false; });
  return el("div", {}, el("div", { class: "controls" }, all.length > 1 ? select : el("span", { class: "soft" }, all[0].label), el("span", { class: "soft" }, "Drag to zoom; the time line follows, and so do these where it is zoomed.")), box);
}
const missing = (side, word) => { const m = side.summary.missing.find(m => m.startsWith(word + ":")); return m ? ": " + m.slice(word.length + 2) : "."; };

// ---------------------------------------------------------------- tables, ranks

function openRow(side, index, t) {
  const col = key => t.columns.findIndex(c => c.key === key);
  if (t.name === "gaps") return { openTitle: "Show it in the time line", open(r) {
    const trace = col("trace") >= 0 && r[col("trace")], at = side.traces.find((v, i) => !trace || v.name === trace || side.summary.traces[i].name === trace || trace === "rank " + side.summary.traces[i].rank) || side.traces[0];
    const a = at.offset_ns + r[col("at_ns")], n = r[col("duration_ns")];
    timelines[index].set(a - n, a + 2 * n);
    goTo("timeline");
  } };
  if (["kernels", "copies", "steps", "operators", "calls"].includes(t.name)) return { openTitle: "Show it in the time line, everything else faded", open: r => highlight(r[col("name")]) };
  return {};
}
const one = (side, index, t) => table({ ...t, ...openRow(side, index, t) });
const isRanks = t => t.name.startsWith("rank");
function tables(side, index) {
  const list = side.tables.filter(t => !isRanks(t));
  if (!list.length) return el("p", {}, "There is nothing to put into tables.");
  const order = ["operators", "kernels"], rankOf = t => order.indexOf(t.name) < 0 ? 9 : order.indexOf(t.name);
  const sorted = [...list].sort((a, b) => rankOf(a) - rankOf(b));
  const short = { gaps: "Longest gaps", occupancy: "Occupancy", path: "Critical path", calls: "API calls" };
  return tabs(sorted.map(t => ({ name: t.name, title: short[t.name] || t.title.split(",")[0], make: () => one(side, index, t) })), "Tables");
}
function ranks(side, index) {
  const list = side.tables.filter(isRanks);
  if (!list.length) return el("p", { class: "note" }, side.summary.ranks_unaligned ? "Nothing is said about what ranks waited for: " + side.summary.ranks_unaligned : "There is one rank only.");
  return el("div", {}, side.summary.ranks_unaligned ? el("p", { class: "note" }, side.summary.ranks_unaligned) : null, list.map(t => [el("h3", {}, t.title), one(side, index, t)]).flat());
}

// ---------------------------------------------------------------- findings, completeness

function findings(side) {
  const box = el("div");
  for (const n of side.not_validated || []) box.append(el("p", { class: "warn" }, n));
  if (!side.findings) { box.append(el("p", { class: "note" }, "Validation was left out.")); return box; }
  for (const f of side.findings) {
    if (side.findings.length > 1) box.append(el("h3", {}, f.file));
    box.append(el("p", { class: "note" }, `${f.producer.name}${f.producer.since ? `, not before ${f.producer.since}` : ""}; ${plural(f.events, "event")}${f.lost ? ` and ${group.format(f.lost)} that could not be read` : ""}; ${bytes(f.bytes)}. ${f.counts.length ? "" : "No rule is broken."}`));
    for (const c of f.counts) {
      const of = f.findings.filter(x => x.rule === c.rule);
      box.append(el("div", { class: "finding " + c.severity, "data-rule": c.rule }, el("div", {}, el("span", { class: "badge " + ({ error: "bad", warning: "warn" }[c.severity] || "soft") }, c.severity), " ", el("b", {}, c.title || c.rule), el("span", { class: "soft" }, ` ${c.rule}, ${plural(c.count, "time")}`)),
        el("details", {}, el("summary", {}, "Where, why, and what to do"), el("ul", { class: "kv" }, of.map(x => el("li", {}, (x.event ? `event ${x.event.index}, byte ${x.offset}: ` : "") + x.text)), c.count > of.length ? el("li", { class: "soft" }, `and ${group.format(c.count - of.length)} more`) : null), el("p", {}, "Why: " + c.why), el("p", {}, "Fix: " + c.fix))));
    }
    if (f.not_applicable.length) box.append(el("details", {}, el("summary", {}, `${plural(f.not_applicable.length, "rule")} of no use here`), el("ul", {}, f.not_applicable.map(n => el("li", {}, `${n.rule}: ${n.reason}`)))));
  }
  return box;
}
function tree(key, v) {
  if (v !== null && typeof v === "object") {
    const entries = Array.isArray(v) ? v.map((x, i) => [String(i + 1), x]) : Object.entries(v);
    if (!entries.length) return el("div", { class: "kv" }, key + ": –");
    return el("details", { class: "tree", open: entries.length <= 12 }, el("summary", { class: "kv" }, key), entries.map(([k, x]) => tree(k, x)));
  }
  return el("div", { class: "kv" }, el("span", { class: "soft" }, key + ": "), typeof v === "number" ? group.format(v) : String(v));
}
function completeness(side) {
  return el("div", {}, side.traces.map((t, i) => {
    const c = side.summary.traces[i] && side.summary.traces[i].completeness;
    const out = el("div", {}, side.traces.length > 1 ? el("h3", {}, t.name) : null);
    if (!t.completeness) { out.append(el("p", { class: "note" }, "This trace carries no record of what it lacks: its producer does not say what was lost.")); return out; }
    if (c) {
      out.append(el("p", {}, el("span", { class: "badge " + ({ complete: "good", incomplete: "bad" }[c.verdict] || "warn") }, c.verdict), c.tool ? " recorded by " + c.tool : ""));
      if (c.lost) out.append(el("ul", {}, c.lost.map(l => el("li", { class: "bad" }, l))));
      if (c.cuts) out.append(el("ul", {}, c.cuts.map(l => el("li", {}, l))));
    }
    out.append(tree("the record", t.completeness));
    return out;
  }));
}

// ---------------------------------------------------------------- difference

function diff() {
  const d = data.diff, kindOf = { slower: "bad", faster: "good", "only new": "warn", "only base": "warn" };
  const columns = unit => [{ key: "name", title: "name" }, { key: "base", title: "base", unit }, { key: "new", title: "new", unit }, { key: "delta", title: "change", unit }, { key: "ratio", title: "new/base", unit: "1" }, { key: "status", title: "" }, { key: "count_base", title: "spans, base", unit: "1", wide: true }, { key: "count_new", title: "spans, new", unit: "1", wide: true }, { key: "matched", title: "matched by", wide: true }];
  const rowsOf = rows => rows.map(r => [r.name, r.base, r.new, r.new - r.base, r.ratio, r.status, r.counts ? r.counts[0] : null, r.counts ? r.counts[1] : null, r.matched_by || ""]);
  const render = (v, c) => {
    if (c.key === "status") return el("td", { class: "t " + (kindOf[v] || "soft") }, v);
    if (c.key === "ratio" && v !== null) return el("td", { title: v }, "×" + v.toFixed(3));
    if (c.key === "delta") return el("td", { class: v > 0 ? "bad" : v < 0 ? "good" : "", title: exact(v, c.unit), "data-value": v }, (v > 0 ? "+" : "") + show(v, c.unit));
    return null;
  };
  const unitOf = u => ({ ns: "ns", share: "share", B: "B" }[u] || "1");
  const whole = el("table", { class: "plain", "data-table": "diff-whole" }, el("thead", {}, el("tr", {}, ["", "base", "new", "change", "new/base", ""].map((h, i) => el("th", { scope: "col", class: i === 0 || i === 5 ? "t" : "" }, h)))),
    el("tbody", {}, d.whole.map(r => { const u = unitOf(r.unit); return el("tr", {}, el("td", { class: "t" }, r.name), el("td", { title: exact(r.base, u) }, show(r.base, u)), el("td", { title: exact(r.new, u) }, show(r.new, u)), render(r.new - r.base, { key: "delta", unit: u }), r.ratio === null ? el("td", {}, "–") : render(r.ratio, { key: "ratio" }), render(r.status, { key: "status" })); })));
  return el("div", {}, el("p", {}, el("span", { class: "badge " + ({ pass: "good", regression: "bad", fail: "bad" }[d.verdict] || "warn") }, d.verdict), " " + d.why),
    d.notes.length ? el("ul", { class: "missing" }, d.notes.map(n => el("li", {}, n))) : null,
    data.sides.some(s => s.traces.length > 1) ? el("p", { class: "note" }, "Several traces of a side count as its runs: times are those of the mean run.") : null, whole, el("h3", {}, "Device time by"),
    tabs(d.tables.map(t => ({ name: "diff-" + t.by, title: t.by, make: () => table({ name: "diff-" + t.by, title: t.by, columns: columns("ns"), rows: rowsOf(t.rows), of: t.of, render, sums: [null, ...["base", "new"].map(k => t.of > t.rows.length ? null : t.rows.reduce((s, r) => s + r[k], 0)), null, null, null, null, null, null] }) })), "Differences"));
}

// ---------------------------------------------------------------- keys

function goTo(id) {
  const s = $(id);
  s.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  const f = s.querySelector("canvas, button, input, summary");
  if (f) f.focus({ preventScroll: true });
}
function keys() {
  const rows = [["1 … 9", "go to a section"], ["/", "filter the table, or find frames"], ["t", "light, dark, as the system"], ["?", "this page"], ["w s", "time line: zoom in and out"], ["a d", "time line: earlier and later"], ["0", "time line: all of it"],
    ["← →", "span before, span after; flame graph: beside"], ["↑ ↓", "row above, row below; flame graph: out and in"], ["Enter", "zoom to what is chosen; open a row"], ["Esc", "let go; flame graph: zoom out"], ["drag", "zoom to a time; with Shift: move"], ["Ctrl + wheel", "zoom; Shift + wheel: move"]];
  $("keys").replaceChildren(el("h2", {}, "Keys"), el("table", { class: "plain" }, el("tbody", {}, rows.map(([k, t]) => el("tr", {}, el("td", { class: "t" }, el("kbd", {}, k)), el("td", { class: "t" }, t))))), el("form", { method: "dialog" }, el("button", { autofocus: true }, "Close")));
  $("keys").showModal();
}
$("help").addEventListener("click", keys);
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) || $("keys").open) return;
  if (e.key >= "1" && e.key <= "9" && sections[e.key - 1]) goTo(sections[e.key - 1].id);
  else if (e.key === "t") nextTheme();
  else if (e.key === "?") keys();
  else if (e.key === "/") {
    const near = [...document.querySelectorAll('input[type="search"]')].filter(i => i.offsetParent).sort((a, b) => Math.abs(a.getBoundingClientRect().top - 120) - Math.abs(b.getBoundingClientRect().top - 120))[0];
    if (near) { e.preventDefault(); near.focus(); }
  }
});

// ---------------------------------------------------------------- the page

applyTheme();
$("title").textContent = data.title;
$("title").title = data.title;
section("overview", "Overview", perSide(overview));
if (data.diff) section("diff", "Difference", diff());
section("timeline", "Time line", data.sides.map((s, i) => [s.label ? el("h3", {}, sideTitle(s)) : null, timeline(s, i)]).flat());
section("flame", "Flame graph", flame());
section("tables", "Tables", data.sides.length === 1 ? tables(data.sides[0], 0) : tabs(data.sides.map((s, i) => ({ title: s.label, make: () => tables(s, i) })), "Sides"));
section("time", "Over time", perSide(overTime));
section("ranks", "Ranks", perSide(ranks));
section("findings", "Findings", perSide(findings));
section("completeness", "Completeness", perSide(completeness));
$("main").append(el("p", { class: "soft" }, `Made by ${data.tool}. Everything in this page stands in this file. Charts over time are drawn by uPlot.`));
const seen = new IntersectionObserver(list => { for (const x of list) $("nav").querySelector(`[href="#${x.target.id}"]`).toggleAttribute("aria-current", x.isIntersecting); }, { rootMargin: "-25% 0px -65% 0px" });
for (const s of sections) seen.observe(s);
root.dataset.ready = Math.round(performance.now());
})();
