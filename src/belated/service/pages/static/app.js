/* The dashboard's script: forms, charts, updates. */
"use strict";
(() => {
  const find = (what, within = document) => within.querySelector(what);
  const every = (what, within = document) => [...within.querySelectorAll(what)];
  const page = document.body.dataset;
  const finish = words => (/^\S+\.\w/.test(words) || find(`[data-in][data-field="${CSS.escape(words.split(":")[0])}"]`) ? words[0]
    : words[0].toUpperCase())  // names stay
    + words.slice(1) + (/[.!?…]$/.test(words) ? "" : ".");
  const makeKey = () => [...crypto.getRandomValues(new Uint32Array(4))].map(part => part.toString(36)).join("-");

  // Calls: what is thrown has the server's sentence; `lost`: send it again

  async function call(address, { body, key } = {}) {
    const headers = body === undefined ? {} : { "Content-Type": "application/" + (body instanceof File ? "octet-stream" : "json"), "Belated-CSRF": find("meta[name=csrf]")?.content ?? "" };
    if (key) headers["Idempotency-Key"] = key;
    const reply = await fetch(address, { method: body === undefined ? "GET" : "POST", headers, body }).catch(() => {
      throw { message: "The server does not answer; try again.", lost: true };
    });
    const plain = await reply.json().catch(() => null);
    if (reply.ok) return plain;
    if (reply.status === 401 && page.page !== "sign-in") location.assign("/sign-in?next=" + encodeURIComponent(location.pathname));
    throw { message: "The server answered " + reply.status, lost: reply.status >= 500, ...plain?.error };
  }

  // What was done or refused

  const say = words => { find("#status").textContent = words; };

  function leave(address, words) {
    sessionStorage.setItem("said", words);
    if (address === location.pathname) location.reload();
    else location.assign(address);
  }

  function showError(form, error) {
    if (!error.message) throw error;
    const about = error.message.split(":")[0], fields = every("[data-field]", form);  // "context age: value must be ..."
    const field = fields.find(each => about.endsWith(each.dataset.field))
      ?? fields.find(each => each.dataset.field === error.field) ?? fields[0];
    const words = Object.assign(document.createElement("p"), { className: "error", id: makeKey(), textContent: finish(error.message) });
    words.setAttribute("role", "alert");
    (field?.closest(".field") ?? form).append(words);
    if (!field) return;
    field.dataset.described = field.getAttribute("aria-describedby") ?? "";
    field.setAttribute("aria-describedby", (field.dataset.described + " " + words.id).trim());
    field.setAttribute("aria-invalid", "true");
    field.focus();
  }

  function clearErrors(form) {
    every(".error", form).forEach(each => each.remove());
    for (const field of every("[aria-invalid]", form)) {
      field.removeAttribute("aria-invalid");
      field.setAttribute("aria-describedby", field.dataset.described);
      if (!field.dataset.described) field.removeAttribute("aria-describedby");
    }
  }

  // Forms

  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const readNumber = text => NUMBER.test(text) && isFinite(text) ? +text : text;  // or refused

  function readField(field) {
    const text = field.value.trim(), kind = field.dataset.kind;
    if (kind === "flag") return field.checked || undefined;
    if ((text === "" && !field.dataset.needed) || (field.type === "radio" && !field.checked)) return;
    if (kind === "json") return JSON.parse(text);
    if (kind === "pair") return text.split(/\s*,\s*|\s+to\s+/).map(readNumber);
    return kind === "number" ? readNumber(text) : text;
  }

  function collect(form) {
    const body = JSON.parse(form.dataset.body ?? "{}");
    for (const field of every("[data-field]", form)) {
      const value = readField(field), part = field.dataset.in;
      if (part && (value !== undefined || !/tell|amend/.test(form.dataset.verb))) body[part] ??= {};
      if (value !== undefined) (part ? body[part] : body)[field.dataset.field] = value;
    }
    return body;
  }

  const write = value => typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value);
  const writeTrial = trial => "trial " + trial.number + ": "
    + Object.entries({ ...trial.params, ...trial.context }).map(([name, value]) => name + " " + write(value)).join(", ");
  const add = note => note ? " " + finish(note) : "";
  const DONE = {
    ask: made => "Asked " + writeTrial(made) + ".",
    tell: (made, body) => made.status === "duplicate"
      ? "Trial " + made.number + " was told the same before; nothing changed."
      : "Told " + write(body.value) + " of trial " + made.number + (made.status === "late" ? ", which came late." : ".")
        + add(made.note),
    fail: (made, body) => "Trial " + made.number + " ended as " + body.kind + ".",
    amend: made => (made ? "Trial " + made.number : "The study") + " was put right.",
    undo: made => (made.length > 1 ? made.length + " events were" : "Event " + made[0].position + " was") + " taken back.",
    add: made => "Added " + writeTrial(made) + "." + add(made.note),
    close: (made, body) => body.lock ? "The study is locked." : "The study is closed.",
    reopen: () => "The study is open again.",
    rename: (made, body) => "The study is called " + body.name + " now.",
    delete: (made, body) => "The study " + body.name + " was deleted.",
  };

  async function submit(form) {
    clearErrors(form);
    const verb = form.dataset.verb, body = collect(form), text = JSON.stringify(body), button = find("button", form);
    if (form.dataset.sent !== text) Object.assign(form.dataset, { sent: text, once: makeKey() });  // a retry has the same key
    const item = form.closest("[data-key]"), beside = (item?.nextElementSibling ?? item?.previousElementSibling)?.dataset.key;
    button.disabled = true;
    try {
      const made = await call(page.api + "/" + verb, { body: text, key: form.dataset.once });
      delete form.dataset.sent;
      const words = DONE[verb](made, body);
      if (form.dataset.then) return leave(form.dataset.then, words);
      say(words);
      await settle(form, verb, made, beside);
    } catch (error) {
      if (!error.lost) delete form.dataset.sent;
      showError(form, error);
    } finally {
      button.disabled = false;
    }
  }

  // Refresh, and focus the field of the new or the next query
  async function settle(form, verb, made, beside) {
    if (verb === "tell") {
      form.reset();
      document.activeElement.blur();
    }
    await refresh(false);  // the charts follow with the event
    const next = find("#tell-" + (verb === "ask" ? made.number : beside));
    if (verb === "ask") next?.closest("[data-key]").classList.add("fresh");
    (next ?? find("#out-title")).focus();
  }

  document.addEventListener("submit", event => {
    const form = event.target;
    if ("auto" in form.dataset) return;
    event.preventDefault();
    if (form.dataset.verb) submit(form);
  });
  document.addEventListener("change", event => {
    if (event.target.matches("[data-auto] select, [data-auto] [type=checkbox]")) event.target.form.requestSubmit();
  });

  // Updates: what is live is replaced, unless somebody types there

  const isBusy = place => place.contains(document.activeElement)
    || every("input", place).some(field => field.value !== field.defaultValue);

  function merge(old, fresh) {
    if (!("keyed" in old.dataset)) {
      if (old.innerHTML !== fresh.innerHTML && !isBusy(old)) old.replaceChildren(...fresh.childNodes);
      return;
    }
    const had = new Map([...old.children].map(each => [each.dataset.key, each]));
    let last = null;
    for (const each of [...fresh.children]) {
      const mine = had.get(each.dataset.key), kept = mine && (isBusy(mine) || mine.outerHTML === each.outerHTML) ? mine : each;
      had.delete(each.dataset.key);
      if (mine && kept !== mine) mine.replaceWith(kept);
      const place = last ? last.nextElementSibling : old.firstElementChild;
      if (kept !== place) old.insertBefore(kept, place);
      last = kept;
    }
    for (const gone of had.values()) if (!isBusy(gone)) gone.remove();
  }

  async function refresh(charts = true) {
    const reply = await fetch(location.href).catch(() => null);
    if (!reply?.ok) return;
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
    for (const place of every("[data-live]")) {
      const now = find('[data-live="' + place.dataset.live + '"]', fresh);
      if (now) merge(place, now);
    }
    if (charts) await Promise.all(every("[data-chart]").map(load));
  }

  let waiting = 0;

  function follow() {
    const stream = new EventSource(page.api + "/stream?after=" + page.position), sign = find("#live");
    stream.onopen = stream.onerror = event => {
      sign.hidden = false;
      const lost = sign.classList.toggle("lost", event.type === "error");
      find("span", sign).textContent = lost ? "connecting …" : "live";
      if (stream.readyState === EventSource.CLOSED) setTimeout(() => call(page.api).catch(() => 0).finally(follow), 5000);  // not signed in: it leaves
    };
    for (const kind of page.kinds.split(" ")) stream.addEventListener(kind, event => {
      page.position = event.lastEventId;
      clearTimeout(waiting);
      waiting = setTimeout(refresh, 250);
    });
    addEventListener("pagehide", () => stream.close());
  }

  // Charts, in this page's colours

  const plotly = new Promise(ready => find("#plotly")?.addEventListener("load", () => ready(window.Plotly)));
  const drawn = new Map(), asked = new Map();  // what places show, and await
  const COLOURS = { "#0072B2": "blue", "rgba(0,114,178,0.2)": "band", "#E69F00": "orange", "#D55E00": "red", "#8A8A8A": "grey",
    "rgba(128,128,128,0.25)": "line", "rgba(0,114,178,0.06)": "low", "rgba(0,114,178,0.9)": "high" };

  async function draw(place, chart) {
    drawn.set(place, chart);
    find("figcaption", place).textContent = chart.words;
    const Plotly = await plotly;
    if (drawn.get(place) !== chart) return;
    const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue("--" + name).trim();
    let text = JSON.stringify(chart.figure);
    for (const [from, name] of Object.entries(COLOURS)) text = text.replaceAll(from, colour("chart-" + name));
    const { data, layout } = JSON.parse(text), plot = find(".plot", place);
    layout.font = { color: colour("chart-text"), family: colour("sans"), size: 12 };
    layout.hoverlabel = { bgcolor: colour("card"), font: { color: colour("ink") } };
    plot.style.height = layout.height ? layout.height + "px" : "";
    find(".wait", plot)?.remove();
    plot.hidden = !data.length;
    await Plotly.react(plot, data, layout, { displayModeBar: false, responsive: true });
    place.dataset.drawn = chart.words;
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach((chart, place) => draw(place, chart)));

  // Fetch and draw the charts and sentences of a place
  async function load(place) {
    const address = new URL(place.dataset.chart, location.href), form = find("#context"), pair = find("#pair"), several = find("template", place);
    if (form) address.searchParams.set("context", JSON.stringify(collect(form).context));
    if (pair?.dataset.names) address.searchParams.set("pair", pair.dataset.names);
    try {
      asked.set(place, address);
      const answer = await call(address);
      if (asked.get(place) !== address) return;  // a newer one comes
      if (form) clearErrors(form);
      for (const each of every("[data-show]")) if (each.dataset.show in answer) each.textContent = answer[each.dataset.show];
      const figures = several ? every("figure", place) : answer.charts.length ? [place] : [];
      while (figures.length > answer.charts.length) figures.pop().remove();
      while (figures.length < answer.charts.length) {
        figures.push(several.content.firstElementChild.cloneNode(true));
        place.append(figures.at(-1));
      }
      if (several) {
        pair.hidden = !answer.pair;
        if (!pair.dataset.names) answer.pair?.names.forEach((name, i) => { find("#pair-" + i).value = name; });
        if (answer.pair) draw(find("figure", pair), answer.pair);
        place.dataset.drawn = figures.length;
      }
      await Promise.all(figures.map((figure, i) => draw(figure, answer.charts[i])));
    } catch (error) {
      if (form && several) return showError(form, error);
      if (!error.message) throw error;
      find(".wait, figcaption", place)?.replaceChildren(finish(error.message));
    }
  }

  find("#context")?.addEventListener("submit", () => load(find(".slices")));
  find("#pair-form")?.addEventListener("change", () => {
    const names = [0, 1].map(i => find("#pair-" + i).value), pair = find("#pair");
    if (names[0] === names[1]) return void find("figcaption", pair).replaceChildren("Choose two different ones.");
    pair.dataset.names = JSON.stringify(names);
    load(find(".slices"));
  });

  // Importing, signing in and out

  find("#import")?.addEventListener("submit", async event => {
    const form = event.target, file = find("#import-file").files[0], found = find("#import-found");
    const send = dry => {
      clearErrors(form);
      return call(page.api + "/import?" + new URLSearchParams({ name: file.name, dry_run: dry }), { body: file });
    };
    found.hidden = true;
    if (!file) return showError(form, { message: "Choose a file first" });
    try {
      const { sentence, warnings } = await send(true), words = find("#import-words");
      found.hidden = false;
      words.textContent = [sentence, ...warnings].map(finish).join(" ");
      words.focus();
      find("#import-now").onclick = () => send(false).then(done => leave(page.base, finish(done.sentence)), error => showError(form, error));
    } catch (error) {
      showError(form, error);
    }
  });

  find("#sign-out")?.addEventListener("click", () => call("/sign-out", { body: "{}" }).then(() => location.assign("/")));

  function signIn(form, code) {
    clearErrors(form);
    call("/sign-in", { body: JSON.stringify({ code }) }).then(() => location.replace(page.next), error => showError(form, error));
  }

  // How pages begin

  if (page.page === "sign-in") {
    const form = find("#sign-in"), begin = () => {
      const code = location.hash.slice(1);
      history.replaceState(null, "", location.href.split("#")[0]);
      if (code) signIn(form, code);
    };
    form.addEventListener("submit", () => signIn(form, find("#code").value.trim()));
    addEventListener("hashchange", begin);
    begin();
  } else {
    every("[data-chart]").forEach(load);
    if (page.api) follow();
    setInterval(() => document.hidden || refresh(false), page.api ? 60000 : 10000);  // ages go on
  }
  const said = sessionStorage.getItem("said");
  if (said) {
    sessionStorage.removeItem("said");
    setTimeout(() => { say(said); find("#main").focus(); }, 50);
  }
})();
