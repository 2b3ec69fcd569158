/* The dashboard's own script: charts, forms, and updates as things happen. */
"use strict";
(() => {
  const find = (what, within = document) => within.querySelector(what);
  const every = (what, within = document) => [...within.querySelectorAll(what)];
  const page = document.body.dataset;
  const csrf = find("meta[name=csrf]")?.content ?? "";

  // Calls ---------------------------------------------------------------------------------------------------------

  const makeKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map(b => b.toString(16).padStart(2, "0")).join("");

  async function call(address, { body, key, type = "application/json" } = {}) {
    const posted = body !== undefined;
    const headers = posted ? { "Content-Type": type, "Belated-CSRF": csrf } : {};
    if (key) headers["Idempotency-Key"] = key;
    let reply;
    try {
      reply = await fetch(address, { method: posted ? "POST" : "GET", headers, body, credentials: "same-origin" });
    } catch {
      throw { message: "The server does not answer. What you typed is still here; try again.", lost: true };
    }
    if (reply.status === 401 && page.page !== "sign-in") location.assign("/sign-in?next=" + encodeURIComponent(location.pathname));
    const plain = await reply.json().catch(() => null);
    if (!reply.ok) throw plain?.error ?? { message: "The server answered " + reply.status + ".", lost: reply.status >= 500 };
    return plain;
  }

  // What was done -------------------------------------------------------------------------------------------------

  function say(words, kind = "") {
    const place = find("#status");
    place.className = kind;
    place.textContent = words;
  }

  const finish = words => words && !/[.!?]$/.test(words) ? words + "." : words;
  const capital = words => words.charAt(0).toUpperCase() + words.slice(1);

  function showError(form, error) {
    const named = error.field ?? error.message.split(/[\s:]/, 1)[0];
    const fields = every("[data-field]", form);
    const field = fields.find(each => each.dataset.field === named) ?? fields.find(each => each.type !== "hidden");
    const words = document.createElement("p");
    words.className = "error";
    words.id = "error-" + makeKey().slice(0, 8);
    words.setAttribute("role", "alert");
    words.textContent = capital(finish(error.message));
    (field?.closest(".field") ?? form).append(words);
    if (!field) return;
    field.setAttribute("aria-invalid", "true");
    field.dataset.described = field.getAttribute("aria-describedby") ?? "";
    field.setAttribute("aria-describedby", (field.dataset.described + " " + words.id).trim());
    field.focus();
    field.select?.();
  }

  function clearErrors(form) {
    every(".error", form).forEach(each => each.remove());
    for (const field of every("[aria-invalid]", form)) {
      field.removeAttribute("aria-invalid");
      if (field.dataset.described) field.setAttribute("aria-describedby", field.dataset.described);
      else field.removeAttribute("aria-describedby");
    }
  }

  // Forms ---------------------------------------------------------------------------------------------------------

  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

  function readField(field) {
    const text = field.value.trim(), kind = field.dataset.kind;
    if (kind === "flag") return field.checked || undefined;
    if (field.type === "radio" && !field.checked) return undefined;
    if (text === "") return undefined;
    if (kind === "json") return JSON.parse(text);
    return kind === "number" && NUMBER.test(text) ? Number(text) : text;  // what is no number is refused in words
  }

  function collect(form) {
    const body = JSON.parse(form.dataset.body ?? "{}");
    for (const field of every("[data-field]", form)) {
      const value = readField(field), part = field.dataset.in;
      if (part) body[part] ??= {};
      if (value !== undefined) (part ? body[part] : body)[field.dataset.field] = value;
    }
    return body;
  }

  const write = value => typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value);
  const writeParams = params => Object.entries(params).map(([name, value]) => name + " " + write(value)).join(", ");
  const writeTrial = trial => "Trial " + trial.number + ": " + writeParams({ ...trial.params, ...trial.context });
  const note = words => words ? " " + capital(finish(words)) : "";

  const DONE = {
    ask: made => Array.isArray(made) ? made.map(writeTrial).join("; ") : writeTrial(made),
    tell: (made, body) => made.status === "duplicate"
      ? "Trial " + made.number + " was told the same before; nothing changed."
      : "Told " + write(body.value) + " of trial " + made.number + (made.status === "late" ? ", which came late." : ".") + note(made.note),
    fail: (made, body) => "Trial " + made.number + " ended as " + body.kind + ".",
    amend: made => "Trial " + made.number + " was put right.",
    undo: made => made.length === 1 ? "Event " + made[0].position + " was taken back." : made.length + " events were taken back.",
    add: made => "Added " + writeTrial(made).replace(/^T/, "t") + ".",
    close: (made, body) => body.lock ? "The study is locked." : "The study is closed.",
    reopen: () => "The study is open again.",
  };

  async function submit(form) {
    clearErrors(form);
    const verb = form.dataset.verb, body = collect(form), text = JSON.stringify(body);
    if (form.dataset.sent !== text) { form.dataset.sent = text; form.dataset.key = makeKey(); }  // a retry has the same key
    const button = find("button[type=submit]", form);
    button.disabled = true;
    try {
      const made = await call(page.api + "/" + verb, { body: text, key: form.dataset.key });
      delete form.dataset.sent;
      const words = DONE[verb](made, body);
      if (form.dataset.then) return leave(form.dataset.then, words);
      say(words);
      await settle(form, verb, made);
    } catch (error) {
      if (!error.lost) delete form.dataset.sent;
      if (!error.message) throw error;
      button.disabled = false;
      showError(form, error);
    } finally {
      button.disabled = false;
    }
  }

  /* Refresh, and put the focus where one goes on. */
  async function settle(form, verb, made) {
    const item = form.closest("[data-key]");
    const beside = item && (item.nextElementSibling ?? item.previousElementSibling)?.dataset.key;
    if (verb === "tell") { form.reset(); document.activeElement?.blur(); }
    await refresh();
    const wanted = verb === "ask" ? [].concat(made)[0].number : beside;
    const next = document.getElementById("tell-" + wanted);
    if (verb === "ask") next?.closest("[data-key]").classList.add("fresh");
    (next ?? find("#out-title") ?? find("#main")).focus();
  }

  /* Go to a page that says what was done. */
  function leave(address, words) {
    sessionStorage.setItem("said", words);
    if (address === location.pathname) location.reload();
    else location.assign(address);
  }

  document.addEventListener("submit", event => {
    const form = event.target;
    if (form.method === "get" && !form.dataset.verb && !form.id) return;
    event.preventDefault();
    if (form.dataset.verb) submit(form);
  });

  document.addEventListener("change", event => {
    const form = event.target.closest("form[data-auto]");
    if (form && event.target.matches("select, [type=checkbox]")) form.requestSubmit();
  });

  // Updates -------------------------------------------------------------------------------------------------------

  const isTyped = field => field.matches("input, textarea") && field.type !== "hidden" && field.value !== field.defaultValue;
  const isBusy = place => place.contains(document.activeElement) || every("input", place).some(isTyped);

  function merge(old, fresh) {
    if (!("keyed" in old.dataset)) {
      if (old.innerHTML !== fresh.innerHTML && !isBusy(old)) old.replaceChildren(...fresh.childNodes);
      return;
    }
    const had = new Map([...old.children].map(each => [each.dataset.key, each]));
    let last = null;
    for (const each of [...fresh.children]) {
      const mine = had.get(each.dataset.key);
      had.delete(each.dataset.key);
      const kept = mine && (isBusy(mine) || mine.outerHTML === each.outerHTML) ? mine : each;
      if (mine && kept !== mine) mine.replaceWith(kept);
      const place = last ? last.nextElementSibling : old.firstElementChild;
      if (kept !== place) old.insertBefore(kept, place);
      last = kept;
    }
    for (const gone of had.values()) if (!isBusy(gone)) gone.remove();
  }

  async function refresh() {
    const reply = await fetch(location.href, { credentials: "same-origin" }).catch(() => null);
    if (!reply?.ok) return;
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
    for (const place of every("[data-live]")) {
      const now = find('[data-live="' + place.dataset.live + '"]', fresh);
      if (now) merge(place, now);
    }
    await Promise.all(every("[data-chart]").map(loadChart));
    if (find("[data-charts]")) await loadBelief();
  }

  let waiting = 0;
  const refreshSoon = () => { clearTimeout(waiting); waiting = setTimeout(refresh, 250); };

  function follow(after) {
    const stream = new EventSource(page.api + "/stream?after=" + after), sign = find("#live");
    const show = (words, lost) => { sign.hidden = false; sign.classList.toggle("lost", lost); find("span", sign).textContent = words; };
    stream.onopen = () => show("live", false);
    stream.onerror = () => {
      show("connecting …", true);
      if (stream.readyState === EventSource.CLOSED) setTimeout(() => { refresh(); follow(page.position); }, 5000);
    };
    const kinds = ["asked", "told", "converted", "repeated", "refused", "counted", "failed", "amended", "undone", "adjusted",
      "refitted", "ended", "reopened", "renamed"];
    for (const kind of kinds) stream.addEventListener(kind, event => { page.position = event.lastEventId; refreshSoon(); });
    addEventListener("pagehide", () => stream.close());
  }

  /* 2d 3h, 5m 20s: the two largest units, as the server writes them. */
  function writeAge(seconds) {
    let rest = Math.round(Math.max(0, seconds));
    const parts = [];
    for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]]) {
      const count = Math.floor(rest / size);
      rest -= count * size;
      if (count || parts.length) parts.push(count + unit);
    }
    return parts.slice(0, 2).filter(part => !part.startsWith("0")).join(" ") || "0s";
  }
  setInterval(() => every("time[data-at]").forEach(each => {
    each.textContent = writeAge(Date.now() / 1000 - Number(each.dataset.at)) + " ago";
  }), 30000);

  // Charts --------------------------------------------------------------------------------------------------------

  const script = find("#plotly");
  const plotly = new Promise(ready => {
    if (window.Plotly) ready(window.Plotly);
    else script?.addEventListener("load", () => ready(window.Plotly));
  });
  const drawn = new Map();  // figure -> what it shows
  const COLOURS = [["#0072B2", "blue"], ["rgba(0,114,178,0.2)", "band"], ["#E69F00", "orange"], ["#D55E00", "red"],
    ["#8A8A8A", "grey"], ["rgba(128,128,128,0.25)", "line"], ["rgba(0,114,178,0.06)", "low"], ["rgba(0,114,178,0.9)", "high"]];

  async function draw(place, chart) {
    drawn.set(place, chart);
    find("figcaption", place).textContent = chart.words;
    const Plotly = await plotly;
    if (drawn.get(place) !== chart) return;
    const style = getComputedStyle(document.documentElement);
    let text = JSON.stringify(chart.figure);
    for (const [colour, name] of COLOURS) text = text.replaceAll(colour, style.getPropertyValue("--chart-" + name).trim());
    const { data, layout } = JSON.parse(text), plot = find(".plot", place);
    const bars = data[0]?.type === "bar" ? data[0].y.length : 0;
    if (bars) place.style.setProperty("--tall", Math.max(11, 5.5 + 1.5 * bars) + "rem");
    Object.assign(layout, {
      autosize: true, margin: { l: 8, r: 12, t: 34, b: 8 }, font: { color: style.getPropertyValue("--chart-text").trim(), size: 12,
        family: style.getPropertyValue("--sans").trim() },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" }, showlegend: layout.showlegend ?? data.length > 1, dragmode: false,
      hoverlabel: { bgcolor: style.getPropertyValue("--card").trim(), font: { color: style.getPropertyValue("--ink").trim() } },
    });
    for (const name of Object.keys(layout).filter(each => /^[xy]axis/.test(each)))
      Object.assign(layout[name], { automargin: true, ticks: "", linecolor: layout[name].gridcolor });
    find(".wait", plot)?.remove();
    await Plotly.react(plot, data, layout, { displayModeBar: false, responsive: true, doubleClick: "reset" });
    place.dataset.drawn = String(1 + Number(place.dataset.drawn ?? 0));
  }

  function drawAgain() {
    for (const [place, chart] of drawn) if (place.isConnected) draw(place, chart);
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAgain);

  function refuseChart(place, error) {
    const plot = find(".plot", place);
    if (!drawn.has(place) && plot) plot.replaceChildren();
    const caption = find("figcaption", place);
    if (caption) caption.textContent = capital(finish(error.message ?? "The chart could not be drawn"));
  }

  async function loadChart(place) {
    try {
      const answer = await call(place.dataset.chart);
      await draw(place, answer.charts[0]);
      if (find("#advice")) showAdvice(answer);
    } catch (error) {
      refuseChart(place, error);
      if (!error.message) throw error;
    }
  }

  const percent = share => Math.round(100 * share) + " %";

  function showAdvice(answer) {
    if (!("advice" in answer)) return;
    find("#advice").textContent = answer.advice;
    find("#meaning").textContent = answer.meaning;
    find("#warning").textContent = answer.warning;
    find("#warning").hidden = !answer.warning;
    if (!answer.rho) return;
    find("#rho").textContent = percent(answer.rho.estimate);
    find("#rho-band").textContent = "95 % confidence: " + percent(answer.rho.low) + " to " + percent(answer.rho.high);
  }

  // Belief --------------------------------------------------------------------------------------------------------

  async function loadBelief() {
    const place = find("[data-charts]"), form = find("#context"), words = find("#recommended");
    const address = new URL(place.dataset.charts, location.href);
    if (form) {
      clearErrors(form);
      address.searchParams.set("context", JSON.stringify(collect(form).context));
    }
    const pair = find("#pair");
    if (pair.dataset.names) address.searchParams.set("pair", pair.dataset.names);
    try {
      const answer = await call(address);
      words.textContent = answer.charts.length ? "Recommended: " + answer.sentence + "." : answer.sentence;
      words.classList.remove("soft");
      find("#outlook").textContent = answer.outlook;
      while (place.children.length > answer.charts.length) place.lastElementChild.remove();
      while (place.children.length < answer.charts.length) {
        const card = document.createElement("figure");
        card.className = "card chart";
        card.setAttribute("role", "group");
        card.append(Object.assign(document.createElement("div"), { className: "plot" }), document.createElement("figcaption"));
        find(".plot", card).setAttribute("aria-hidden", "true");
        place.append(card);
      }
      find("#key").hidden = !answer.charts.length;
      pair.hidden = !answer.pair;
      if (answer.pair) answer.pair.names.forEach((name, i) => { find("#pair-" + i).value = name; });
      await Promise.all([...answer.charts.map((chart, i) => draw(place.children[i], chart)),
        ...answer.pair ? [draw(find(".chart", pair), answer.pair)] : []]);
    } catch (error) {
      if (!error.message) throw error;
      if (form && error.code === "invalid_input") showError(form, error);
      else words.textContent = capital(finish(error.message));
    }
  }

  // What single pages have ------------------------------------------------------------------------------------------

  find("#context")?.addEventListener("submit", loadBelief);
  find("#pair-form")?.addEventListener("change", () => {
    const [across, up] = [0, 1].map(i => find("#pair-" + i).value);
    const pair = find("#pair");
    if (across === up) return void (find("figcaption", pair).textContent = "Choose two different ones.");
    pair.dataset.names = JSON.stringify([across, up]);
    loadBelief();
  });

  find("#import")?.addEventListener("submit", async event => {
    const form = event.target, file = find("#import-file").files[0];
    clearErrors(form);
    if (!file) return showError(form, { message: "Choose a file first.", field: "file" });
    const address = dry => page.api + "/import?format=csv&dry_run=" + dry;
    try {
      const body = await file.arrayBuffer();
      const found = await call(address(true), { body, type: "text/csv" });
      find("#import-found").hidden = false;
      find("#import-words").textContent = [found.sentence, ...found.warnings].map(words => capital(finish(words))).join(" ");
      find("#import-words").focus();
      const key = makeKey();
      find("#import-now").onclick = async () => {
        try {
          leave(page.base, (await call(address(false), { body, key, type: "text/csv" })).sentence);
        } catch (error) {
          showError(form, error);
        }
      };
    } catch (error) {
      find("#import-found").hidden = true;
      showError(form, error);
    }
  });

  find("#sign-out")?.addEventListener("click", async () => {
    await call("/sign-out", { body: "{}" });
    location.assign("/sign-in");
  });

  async function signIn(code, form) {
    try {
      await call("/sign-in", { body: JSON.stringify({ code }) });
      location.replace(page.next);
    } catch (error) {
      showError(form, { ...error, field: "code" });
    }
  }

  if (page.page === "sign-in") {
    const form = find("#sign-in"), code = location.hash.slice(1);
    form.addEventListener("submit", () => { clearErrors(form); signIn(find("#code").value.trim(), form); });
    if (code) {
      history.replaceState(null, "", location.pathname + location.search);  // the code is not left in the address
      signIn(code, form);
    }
  }
  if (page.page === "study") {
    every("[data-chart]").forEach(loadChart);
    if (find("[data-charts]")) loadBelief();
    follow(page.position);
  }
  if (page.page === "studies") setInterval(() => document.hidden || refresh(), 10000);
  const said = sessionStorage.getItem("said");
  if (said) {
    sessionStorage.removeItem("said");
    setTimeout(() => { say(said); find("#main").focus(); }, 50);  // a live region is read when it changes
  }
})();
