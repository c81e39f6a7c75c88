"use strict";
// Shows the rows of a page. The first are elements, the others text in `noscript`, which a browser without scripts shows.
const rowList = (() => {
  const STEP = 100, PATIENCE = 2000, PAUSE = 100, SOON = 400; // rows; milliseconds
  const find = one => document.querySelector(one), findAll = one => [...document.querySelectorAll(one)];
  const box = find(".rows"), status = find(".status"), more = find(".more");
  const [text, scope, regex, order] = ["text", "scope", "regex", "order"].map(name => find("#find-" + name));
  const menus = findAll(".list select").filter(one => one !== scope && one !== order);
  const parts = findAll("a.part");

  // The same cut here and in the worker gives the same numbers to the rows.
  const first = findAll(".rows>.q"), texts = [first.map(one => one.outerHTML).join("")];
  for (const one of findAll(".rows>noscript")) { texts.push(one.textContent); one.remove() }
  const rows = texts.flatMap(one => one.split("<details ").slice(1)).map((html, at) => {
    const [, classes, place] = /^class="([^"]*)" id="([^"]*)"/.exec(html);
    const data = name => (new RegExp(` data-${name}="([^"]*)"`).exec(html.slice(0, html.indexOf(">"))) || [])[1] || "";
    return { html, at, place, classes: new Set(classes.split(" ")), data, node: first[at] };
  });
  const build = row => {
    if (!row.node) {
      const made = document.createElement("template");
      made.innerHTML = "<details " + row.html;
      row.node = made.content.firstElementChild;
    }
    return row.node;
  };

  // The code of the worker: it keeps what a row says by field, and tries an expression on all of them.
  function work() {
    const NAMED = { amp: "&", lt: "<", gt: ">", quot: "\"", nbsp: "\u00a0" };
    const decode = one => one.replace(/<[^>]*>/g, "")
      .replace(/&(?:#(\d+)|(\w+));/g, (_, code, name) => code ? String.fromCharCode(code) : NAMED[name]);
    // The name, the question, the output and the reasons of a row.
    const FIELDS = {
      n: /<(b)>(.*?)<\/\1>/gs,
      i: /<(pre) class="i"[^>]*>\n?(.*?)<\/\1>/gs,
      o: /<(pre) class="o"[^>]*>\n?(.*?)<\/\1>/gs,
      r: /<(td|span) class="(?:r|quiet)"[^>]*>(.*?)<\/\1>/gs,
    };
    const read = html => Object.fromEntries(Object.entries(FIELDS).map(([name, mark]) =>
      [name, [...html.matchAll(mark)].map(found => decode(found[2])).join("\n")]));
    const rows = [];
    let latest = 0;
    onmessage = async ({ data }) => {
      if (data.texts) {
        for (const text of data.texts) for (const html of text.split("<details ").slice(1)) rows.push(read(html));
        return;
      }
      const { number, source, scope } = data, wanted = new RegExp(source, "im"), found = [];
      latest = number;
      let spoke = -Infinity;
      for (const [at, row] of rows.entries()) {
        if (performance.now() - spoke > 50) {
          postMessage({ number, done: at / rows.length });
          await new Promise(go => setTimeout(go));
          if (latest !== number) return;
          spoke = performance.now();
        }
        if ((scope ? [scope] : Object.keys(FIELDS)).some(name => wanted.test(row[name]))) found.push(at);
      }
      postMessage({ number, found });
    };
  }
  let worker = null, number = 0, begun = 0, asked = 0, watch = 0;
  const start = () => {
    const code = new Blob([`(${work})()`], { type: "text/javascript" });
    try { worker = new Worker(URL.createObjectURL(code)) } catch { return }
    worker.onmessage = receive;
    worker.onerror = () => { worker = null; ask() };
    worker.postMessage({ texts });
  };
  const say = words => { status.textContent = words };

  // What is asked for, and the rows that are.
  let hits = null, shown = [], count = 0, arrange = null;
  const keys = () => menus.map(one => one.selectedOptions[0].className.slice(1)).filter(Boolean);
  const toNumber = one => one === "" ? null : Number(one);
  const ORDERS = { score: row => toNumber(row.data("score")), change: row => toNumber(row.data("change")) };
  const sort = found => {
    const [name, way] = order.value.split(" ");
    if (arrange) return arrange(found);
    if (!name) return found;
    const value = ORDERS[name] || (row => toNumber(row.data("checks").split(",")[name]));
    const ranked = found.map(row => [value(row), row]), sign = way === "down" ? -1 : 1;
    return ranked.sort(([a], [b]) => (a === null) - (b === null) || sign * (a - b)).map(([, row]) => row);
  };
  const show = () => {
    const chosen = keys();
    const found = (hits ? hits.map(at => rows[at]) : rows).filter(row => chosen.every(key => row.classes.has(key)));
    shown = sort(found);
    count = Math.min(STEP, shown.length);
    const focused = document.activeElement;
    box.replaceChildren(...shown.slice(0, count).map(build));
    if (box.contains(focused)) focused.focus();
    tell();
  };
  const tell = () => {
    const [all, some, seen] = [rows.length, shown.length, count].map(one => one.toLocaleString("en"));
    const found = shown.length < rows.length ? `${some} of ${all}` : all;
    say(found + (parts.length ? " in this part" : "") + (count < shown.length ? `; the first ${seen} are listed` : ""));
    more.hidden = count >= shown.length;
  };
  const extend = (least = 0) => {
    const end = Math.min(Math.max(count + STEP, least), shown.length);
    box.append(...shown.slice(count, end).map(build));
    count = end;
    tell();
  };

  // An expression may take for ever on one output: a worker that says nothing for so long is ended.
  const receive = ({ data }) => {
    clearTimeout(watch);
    begun = data.number;
    if (data.found && data.number === number) { hits = data.found; show() }
    if (data.found) return;
    watch = setTimeout(stop, PATIENCE);
    if (data.number === number && performance.now() - asked > SOON) say(`searching: ${Math.round(data.done * 100)} %`);
  };
  const stop = () => {
    worker.terminate();
    start();
    if (begun !== number) ask();
    else say(`this expression takes more than ${PATIENCE / 1000} seconds on one output, and was given up`);
  };
  const write = () => regex.checked ? text.value : text.value.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const ask = () => {
    if (!text.value) return;
    if (worker) worker.postMessage({ number, source: write(), scope: scope.value });
    else say("this browser, or the server of this page, does not let it search");
  };
  const search = () => {
    keep();
    number += 1;
    asked = performance.now();
    if (!text.value) { hits = null; show(); return }
    try { new RegExp(write(), "im") }
    catch (error) { say(`not a regular expression: ${error.message.split(": ").pop()}`); return }
    ask();
  };

  // The address has what is asked for, so that it can be sent; `#o12` is one row.
  const keep = () => {
    const asked = new URLSearchParams();
    const fields = { text, in: scope, order };
    for (const name in fields) if (fields[name].value) asked.set(name, fields[name].value);
    if (regex.checked) asked.set("regex", "1");
    if (keys().length) asked.set("only", keys().join(" "));
    const hash = String(asked) ? "#?" + asked : "";
    history.replaceState(null, "", hash || location.href.split("#")[0]);
    for (const one of parts) one.hash = hash;
  };
  const restore = () => {
    const asked = new URLSearchParams(location.hash.startsWith("#?") ? location.hash.slice(2) : "");
    text.value = asked.get("text") || "";
    scope.value = asked.get("in") || "";
    order.value = asked.get("order") || "";
    if (order.selectedIndex < 0) order.selectedIndex = 0;
    regex.checked = asked.has("regex");
    const only = new Set((asked.get("only") || "").split(" "));
    const isChosen = option => only.has(option.className.slice(1));
    for (const menu of menus) menu.selectedIndex = Math.max(0, [...menu.options].findIndex(isChosen));
    hits = null;
    show();
    if (text.value) search();
  };
  const reset = () => {
    text.value = "";
    for (const one of [scope, order, ...menus]) one.selectedIndex = 0;
    hits = null;
    show();
  };
  const follow = () => {
    const hash = location.hash;
    if (!/^#o\d+$/.test(hash)) { restore(); return }
    const isHere = row => row.place === hash.slice(1);
    if (!shown.some(isHere)) reset();
    const row = shown.find(isHere);
    if (row) open(row);
    else say(`${hash.slice(1)} is not ${parts.length ? "in this part" : "here"}`);
  };
  const open = row => {
    const at = shown.indexOf(row);
    if (at >= count) extend(at + 1);
    const node = build(row);
    node.open = true;
    node.scrollIntoView();
    node.firstElementChild.focus({ preventScroll: true });
  };

  const step = way => {
    const open = [...box.children].map(one => one.firstElementChild), at = open.indexOf(document.activeElement);
    if (way > 0 && at === open.length - 1) extend();
    const next = box.children[Math.min(Math.max(at + way, 0), box.children.length - 1)];
    if (next) { next.firstElementChild.focus(); next.firstElementChild.scrollIntoView({ block: "nearest" }) }
  };
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input:not([type=checkbox]), select");
    if (event.key === "Escape") event.target.blur();
    else if (event.key === "Enter" && event.target === text) { text.blur(); step(1) }
    else if (typing) return;
    else if (event.key === "/") text.focus();
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else return;
    event.preventDefault();
  });
  let pause = 0;
  const soon = () => { clearTimeout(pause); pause = setTimeout(search, PAUSE) };
  text.addEventListener("input", soon);
  for (const one of [scope, regex]) one.addEventListener("change", search);
  for (const one of [order, ...menus]) one.addEventListener("change", () => { keep(); show() });
  more.addEventListener("click", () => extend());
  new IntersectionObserver(seen => { if (seen[0].isIntersecting && !more.hidden) extend() }).observe(more);
  addEventListener("hashchange", follow);
  for (const one of findAll(".find")) one.hidden = false;
  find(".count").remove();
  start();
  follow();
  // All rows, in an order of somebody else's (null: in that which is chosen).
  const showAll = made => {
    arrange = made;
    number += 1;
    reset();
    keep();
  };
  return { rows, build, open, showAll, shown: () => shown };
})();
