// The recordings of a camera: a timeline, a list, and a player in place of the live picture.
import { ask, askJSON, recordPath, timelinePath } from "./api.js";
import { Motion } from "./motion.js";
import { count, forHowLong, say, stateName, timeOfDay } from "./words.js";

const byID = (id) => document.getElementById(id);
const LISTED = 200;
const TRIGGER_SECONDS = 30;
/** How long before the requested time a recording starts to play. */
const SECONDS_BEFORE = 2;
/** The shortest span of the timeline, in milliseconds. */
const SHORTEST = 600_000;

/** The part of the open view that shows the recordings of its camera. */
export class Recordings {
  #camera = null;
  #asked = 0;
  /** The player of a recording; null if none is played. */
  #player = null;
  #played = null;
  #recordings = [];

  /** `onProblem(text)` if something can't be done. */
  constructor(onProblem) {
    this.onProblem = onProblem;
    this.motion = new Motion({ onProblem, onEvent: (event) => this.#playEvent(event) });
    byID("record").addEventListener("click", () => this.#record());
    byID("recording-live").addEventListener("click", () => this.stop());
  }

  /** Shows the recordings of a tile's camera; null for none. */
  async show(tile, canControl = false) {
    const camera = tile?.camera ?? null;
    if (camera?.name !== this.#camera) this.stop();
    this.#camera = camera?.name ?? null;
    const number = ++this.#asked;
    const when = camera?.recording?.when;
    byID("record").hidden = !canControl || !["trigger", "motion"].includes(when);
    byID("record").setAttribute("aria-pressed", camera?.recording?.active === true);
    byID("recordings").hidden = !when && !camera?.motion;
    byID("recordings-own").hidden = !when;
    if (!camera || (!when && !camera.motion)) return this.motion.show(tile, canControl, []);
    const words = new URLSearchParams({ camera: camera.name, limit: LISTED });
    const [{ recordings, peers }, timeline] = await Promise.all([
      when ? askJSON(`api/recordings?${words}`).catch(() => ({ recordings: [] })) : { recordings: [] },
      askJSON(timelinePath(camera.name)).catch(() => ({ motion: [], states: [] })),
    ]);
    // Another camera was requested meanwhile.
    if (number !== this.#asked) return;
    this.#recordings = recordings;
    this.motion.show(tile, canControl, timeline.motion);
    const away = (peers ?? []).filter(({ state }) => state !== "up").map(({ name }) => name);
    this.#list(recordings, away);
    this.#draw(recordings, timeline);
  }

  /** Plays the recording of an event, at that time, or else opens the event's picture. */
  #playEvent(event) {
    const time = Date.parse(event.best ?? event.since);
    if (!this.#playAt(time) && event.picture) open(event.picture.slice(1), "_blank", "noopener");
  }

  /** Plays the recording of a time. Returns whether there is one. */
  #playAt(time) {
    const found = this.#recordings.find((recording) => {
      const start = Date.parse(recording.start);
      return start <= time && (recording.recording || time <= start + recording.duration * 1000);
    });
    const item = found && document.querySelector(`.recording[data-url="${CSS.escape(found.url)}"]`);
    if (!item) return false;
    item.scrollIntoView({ block: "nearest" });
    this.#play(found, item, Math.max(0, (time - Date.parse(found.start)) / 1000 - SECONDS_BEFORE));
    return true;
  }

  /** Returns to the live picture. */
  stop() {
    if (!this.#player) return;
    this.#player.remove();
    // Stops loading the file.
    this.#player.removeAttribute("src");
    this.#player.load();
    this.#player = this.#played = null;
    byID("stage").classList.remove("has-recording");
    for (const item of document.querySelectorAll(".recording[aria-current]")) item.removeAttribute("aria-current");
  }

  #play(recording, button, at = 0) {
    this.stop();
    byID("stage").classList.add("has-recording");
    const player = Object.assign(document.createElement("video"), {
      id: "detail-player", controls: true, playsInline: true, muted: true, src: recording.url.replace(/^\//, ""),
    });
    player.addEventListener("error", () => {
      if (player !== this.#player) return;
      this.stop();
      this.onProblem("The recording can't be played: it may have been removed.");
    });
    if (at > 0) player.addEventListener("loadedmetadata", () => { player.currentTime = at; }, { once: true });
    this.#player = player;
    this.#played = recording.url;
    byID("recording-live").before(player);
    player.play().catch(() => {});
    button.setAttribute("aria-current", "true");
  }

  /** `away` are the nodes whose recordings are missing. */
  #list(recordings, away) {
    const missing = away.length > 0 ? `Recordings of ${away.join(", ")} are missing: no answer.` : "";
    say(byID("recordings-none"), missing || (recordings.length === 0 ? "No recordings yet." : ""));
    byID("recording-list").replaceChildren(...recordings.map((recording) => {
      const item = byID("recording-template").content.firstElementChild.cloneNode(true);
      const [button, link] = item.children;
      const length = recording.recording ? "being recorded" : lasting(recording.duration);
      button.dataset.url = recording.url;
      if (recording.url === this.#played) button.setAttribute("aria-current", "true");
      button.append(
        Object.assign(document.createElement("b"), { textContent: timeOfDay(recording.start) }),
        `${dayOf(recording.start)} ${length}`);
      button.addEventListener("click", () => this.#play(recording, button));
      link.href = recording.url.replace(/^\//, "");
      link.download = recording.url.split("/").slice(-2).join("-");
      link.setAttribute("aria-label", `Save the recording of ${timeOfDay(recording.start)}`);
      return item;
    }));
  }

  /** Draws a bar for each recording, from the oldest to now, and marks for motion and for a lost camera. */
  #draw(recordings, { motion, states }) {
    const now = Date.now();
    const starts = recordings.map(({ start }) => Date.parse(start));
    const from = Math.min(now - SHORTEST, ...starts);
    const line = byID("timeline");
    const events = motion.filter(({ last }) => Date.parse(last) >= from);
    const outages = states.flatMap(({ state, since, reason }, index) => {
      const end = Date.parse(states[index + 1]?.since ?? new Date(now));
      return state === "live" || end < from ? [] : [{ state, reason, start: Math.max(from, Date.parse(since)), end }];
    });
    line.setAttribute("aria-label",
      `${count(recordings.length, "recording")}, ${count(events.length, "motion event")} and `
      + `${count(outages.length, "outage")} since ${timeOfDay(new Date(from))}`);
    const mark = (element, kind, start, end, title) => {
      Object.assign(element, { className: kind, title });
      element.style.setProperty("--at", (start - from) / (now - from));
      element.style.setProperty("--of", (end - start) / (now - from));
      return element;
    };
    const marks = events.map((event) => {
      const button = Object.assign(document.createElement("button"), { type: "button", tabIndex: -1 });
      button.addEventListener("click", () => this.#playEvent(event));
      const start = Math.max(from, Date.parse(event.since));
      return mark(button, "moved", start, Date.parse(event.last),
        [`Motion at ${timeOfDay(event.since)}`, event.label, ...event.zones].filter(Boolean).join(", "));
    });
    const gaps = outages.map(({ state, reason, start, end }) => mark(
      document.createElement("i"), "outage", start, end,
      [`${stateName(state)} from ${timeOfDay(start / 1000)} to ${timeOfDay(end / 1000)}`, reason].filter(Boolean).join(": ")));
    line.replaceChildren(...gaps, ...recordings.map((recording, index) => {
      const bar = document.createElement("button");
      const length = recording.recording ? now - starts[index] : recording.duration * 1000;
      bar.type = "button";
      bar.tabIndex = -1;
      bar.title = `${timeOfDay(recording.start)}, ${recording.recording ? "being recorded" : lasting(recording.duration)}`;
      bar.style.setProperty("--at", (starts[index] - from) / (now - from));
      bar.style.setProperty("--of", length / (now - from));
      bar.addEventListener("click", () => {
        const item = document.querySelector(`.recording[data-url="${CSS.escape(recording.url)}"]`);
        item?.scrollIntoView({ block: "nearest" });
        if (item) this.#play(recording, item);
      });
      return bar;
    }), ...marks);
    say(byID("timeline-from"), forHowLong(new Date(from).toISOString()).replace("for ", "− "));
  }

  async #record() {
    const isActive = byID("record").getAttribute("aria-pressed") === "true";
    try {
      if (isActive) await ask(recordPath(this.#camera), { method: "DELETE" });
      else await askJSON(recordPath(this.#camera), { method: "POST", body: { duration: TRIGGER_SECONDS } });
      byID("record").setAttribute("aria-pressed", !isActive);
    } catch (error) {
      this.onProblem(`${this.#camera} is not recorded: ${error.message}`);
    }
  }
}

/** "12 s", "3 min 5 s". */
function lasting(seconds) {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** The day, unless it is today. */
function dayOf(start) {
  const date = new Date(start);
  return date.toDateString() === new Date().toDateString() ? "" : date.toLocaleDateString();
}
