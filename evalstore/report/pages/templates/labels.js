// Asks a person whether outputs are good, and saves the answers as `judge validate --labels` reads them.
(() => {
  const FIELDS = ["id", "sample", "input", "expected", "output", "label"], OPTIONAL = ["sample", "input", "expected"];
  const KEYS = { p: "pass", f: "fail", s: "skip", u: "undo" };
  const find = one => document.querySelector(one), list = find(".list"), status = find("#label-count");
  const [mode, blind, save] = ["mode", "blind", "save"].map(name => find("#label-" + name));
  const places = new Map(rowList.rows.map(row => [row.place, row]));
  const labels = new Map(); // by place, in the order in which they were given
  const name = `evalstore labels ${list.dataset.labels}`;
  let kept = true, saved = true, current = null;

  // What is shown is a field where nothing else is said of it; null is what the page does not have whole.
  const read = row => {
    const node = rowList.build(row), own = JSON.parse(node.dataset.label || "{}");
    const [id, input, output] = ["summary b", "pre.i", "pre.o"].map(one => node.querySelector(one).textContent);
    return { id, input, output, ...own };
  };
  const write = ([place, label]) => {
    const all = { ...read(places.get(place)), label };
    const fields = FIELDS.filter(field => field in all && (all[field] || !OPTIONAL.includes(field)));
    return JSON.stringify(Object.fromEntries(fields.map(field => [field, all[field]]))) + "\n";
  };
  const keep = () => {
    saved = false;
    try { localStorage.setItem(name, JSON.stringify([...labels])) } catch { kept = false }
    tell();
  };
  const tell = (words = "") => {
    const given = [...labels.values()], passed = given.filter(one => one === "pass").length;
    const [all, pass, fail, left] = [given.length, passed, given.length - passed, places.size - given.length]
      .map(one => one.toLocaleString("en"));
    const where = kept ? "this browser keeps them" : "this browser does not keep them: save them before you leave";
    status.textContent = `${words}${all} labelled (${pass} pass, ${fail} fail), ${left} left; ${where}`;
    save.disabled = !given.length;
  };
  const mark = row => {
    const summary = rowList.build(row).firstElementChild, label = labels.get(row.place);
    summary.parentNode.classList.toggle("labelled", Boolean(label));
    summary.querySelector(".mine")?.remove();
    if (!label) return;
    const badge = document.createElement("span");
    badge.className = `mine badge ${label === "pass" ? "up" : "down"}`;
    badge.textContent = `labelled ${label}`;
    summary.querySelector("b").after(" ", badge);
  };

  const buttons = document.createElement("p");
  buttons.append(...["p", "f", "s"].flatMap(key => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = KEYS[key];
    button.addEventListener("click", () => act(key));
    return [button, " "];
  }));
  const turn = row => {
    if (!row) { tell("no output is left below this one. "); return }
    current = row;
    rowList.open(row);
  };
  const findNext = row => {
    const shown = rowList.shown();
    return shown.slice(shown.indexOf(row) + 1).find(one => !labels.has(one.place));
  };
  const act = key => {
    const node = document.activeElement.closest(".q"), row = node ? places.get(node.id) : current;
    if (!row) return;
    if (key === "u") labels.delete(row.place);
    else if (key !== "s") {
      if (Object.values(read(row)).includes(null)) {
        tell("only a part of this output is on the page: label it in a terminal, with --label FILE. ");
        return;
      }
      labels.delete(row.place);
      labels.set(row.place, KEYS[key]);
    }
    mark(row);
    if (key !== "s") keep();
    if (key === "u") return;
    const next = findNext(row);
    if (next) rowList.build(row).open = false;
    turn(next);
  };

  // The order is that of a terminal, by a hash: the first n are a sample of all, and no grader has chosen them.
  const byRank = rows => rows.map(row => [row.data("rank"), row]).sort(([a], [b]) => a < b ? -1 : 1).map(([, row]) => row);
  const hide = () => { list.classList.toggle("blind", mode.checked && blind.checked) };
  mode.addEventListener("change", () => {
    list.classList.toggle("labelling", mode.checked);
    hide();
    rowList.showAll(mode.checked ? byRank : null);
    if (mode.checked) turn(rowList.shown().find(row => !labels.has(row.place)));
    else buttons.remove();
  });
  blind.addEventListener("change", hide);
  list.addEventListener("toggle", ({ target }) => {
    if (mode.checked && target.open && target.matches(".q")) target.lastElementChild.append(buttons);
  }, true);
  addEventListener("keydown", event => {
    if (!mode.checked || event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
    act(event.key);
    event.preventDefault();
  });
  save.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([...labels].map(write), { type: "application/x-ndjson" }));
    link.download = "labels.jsonl";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    saved = true;
  });
  addEventListener("beforeunload", event => { if (!kept && !saved) event.preventDefault() });

  try {
    for (const [place, label] of JSON.parse(localStorage.getItem(name)) || []) {
      if (!places.has(place) || !["pass", "fail"].includes(label)) continue;
      labels.set(place, label);
      mark(places.get(place));
    }
  } catch { kept = false }
  for (const one of document.querySelectorAll(".labels")) one.hidden = false;
  tell();
})();
