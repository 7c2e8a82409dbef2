// The recordings of a camera: a list, the jumps between events, and a player in place of the live picture.
import { ask, askJSON, recordPath, serverNow, timelinePath } from "./api.js";
import { Motion } from "./motion.js";
import { Saving } from "./save.js";
import { Timeline } from "./timeline.js";
import { say, timeOfDay } from "./words.js";

const byID = (id) => document.getElementById(id);
const LISTED = 200;
const TRIGGER_SECONDS = 30;
/** How long before motion a recording starts to play, in milliseconds. */
const BEFORE_MOTION = 2000;
/** A recording that begins so soon after another one continues it, in milliseconds. */
const CONTINUED = 2000;
/** A jump passes over events so close to the current time, in milliseconds. */
const NEAR = { back: 1000, next: BEFORE_MOTION + 500 };

/** The part of the open view that shows the recordings of its camera. */
export class Recordings {
  #camera = null;
  #asked = 0;
  /** The player of a recording; null if none is played. */
  #player = null;
  #played = null;
  /**
   * The newest first, with their times as `from` and `to`, in milliseconds since 1970. One that is not `isPlayable`
   * has only pictures for this client.
   */
  #recordings = [];
  /** The times to jump to, the oldest first, and how long before them playing starts. */
  #stops = [];

  /** `onProblem(text)` if something can't be done. */
  constructor(onProblem) {
    this.onProblem = onProblem;
    this.motion = new Motion({ onProblem, onEvent: (event) => this.#playEvent(event) });
    this.saving = new Saving({ onProblem, onSpan: (span) => this.timeline.select(span) });
    this.timeline = new Timeline({
      onPlay: (time, event) => (event ? this.#playEvent(event) : this.#playFrom(time)),
      onSelect: (from, to) => this.saving.choose(from, to),
      onMove: () => this.#moved(),
    });
    byID("record").addEventListener("click", () => this.#record());
    byID("recording-live").addEventListener("click", () => this.stop());
    byID("event-back").addEventListener("click", () => this.#jump(this.#stopBefore));
    byID("event-next").addEventListener("click", () => this.#jump(this.#stopAfter));
  }

  /** Shows the recordings of a tile's camera; null for none. */
  async show(tile, canControl = false) {
    const camera = tile?.camera ?? null;
    const name = camera?.name ?? null;
    if (name !== this.#camera) this.#forget();
    this.#camera = name;
    const number = ++this.#asked;
    const when = camera?.recording?.when;
    byID("record").hidden = !canControl || !["trigger", "motion"].includes(when);
    byID("record").setAttribute("aria-pressed", camera?.recording?.active === true);
    byID("recordings").hidden = !when && !camera?.motion;
    byID("recordings-own").hidden = !when;
    if (!camera || (!when && !camera.motion)) {
      this.#forget();
      return this.motion.show(tile, canControl, []);
    }
    const words = new URLSearchParams({ camera: name, limit: LISTED });
    const [{ recordings, peers }, timeline] = await Promise.all([
      when ? askJSON(`api/recordings?${words}`).catch(() => ({ recordings: [] })) : { recordings: [] },
      askJSON(timelinePath(name)).catch(() => ({ motion: [], states: [] })),
    ]);
    // Another camera was requested meanwhile.
    if (number !== this.#asked) return;
    const now = serverNow();
    this.#recordings = recordings.map((recording) => {
      const from = Date.parse(recording.start);
      const to = recording.recording ? Math.max(from, now) : from + (recording.duration ?? 0) * 1000;
      return { ...recording, from, to, isPlayable: canControl || recording.file !== "control" };
    });
    this.motion.show(tile, canControl, timeline.motion);
    const away = (peers ?? []).filter((peer) => peer.state !== "up").map((peer) => peer.name);
    this.#list(this.#recordings, away);
    this.timeline.show(name, this.#recordings, timeline, now);
    this.#stops = stops(this.#recordings, this.timeline.events);
    this.saving.show(name, this.#recordings);
    byID("timeline-tools").hidden = this.timeline.isEmpty;
    this.#moved();
  }

  /** Forgets the camera. */
  #forget() {
    this.stop();
    [this.#recordings, this.#stops] = [[], []];
    this.timeline.clear();
    this.saving.show(null, []);
    byID("timeline-tools").hidden = true;
  }

  #moved() {
    this.saving.move(this.timeline.time);
    byID("event-back").disabled = !this.#stopBefore;
    byID("event-next").disabled = !this.#stopAfter;
  }

  // ---- Playing

  get #time() { return this.timeline.time ?? serverNow(); }
  get #stopBefore() { return this.#stops.findLast(({ time }) => time < this.#time - NEAR.back); }
  get #stopAfter() { return this.#stops.find(({ time }) => time > this.#time + NEAR.next); }

  #jump(stop) {
    if (stop && !this.#playAt(stop.time, stop.before)) this.timeline.choose(stop.time);
  }

  /** Plays the recording of an event, at that time, or else opens the event's picture. */
  #playEvent(event) {
    const time = Date.parse(event.best ?? event.since);
    if (!this.#playAt(time, BEFORE_MOTION) && event.picture) open(event.picture.slice(1), "_blank", "noopener");
  }

  /** Plays the recording of a time, from `before` that time on. Returns whether there is one that can be played. */
  #playAt(time, before) {
    const found = this.#recordings.find(({ from, to, isPlayable }) => isPlayable && from <= time && time <= to);
    if (found) this.#play(found, Math.max(0, time - before - found.from) / 1000);
    return found !== undefined;
  }

  /** Plays from a time on: the recording of that time, the next one after it, or else the live picture. */
  #playFrom(time) {
    const found = this.timeline.recordingAt(time) ?? this.#recordings.findLast(({ from }) => from > time);
    if (!found) return this.stop();
    if (!found.isPlayable) return this.#choose(Math.max(time, found.from));
    this.#play(found, found.from <= time && time <= found.to ? (time - found.from) / 1000 : 0);
  }

  /** Returns to the live picture. */
  stop() { this.#choose(null); }

  /** Ends playing, and chooses a time on the timeline; null for the live picture. */
  #choose(time) {
    this.#close();
    this.timeline.choose(time);
    this.timeline.played = null;
  }

  #close() {
    if (!this.#player) return;
    this.#player.remove();
    // Stops loading the file.
    this.#player.removeAttribute("src");
    this.#player.load();
    this.#player = this.#played = null;
    byID("stage").classList.remove("has-recording");
    for (const item of document.querySelectorAll(".recording[aria-current]")) item.removeAttribute("aria-current");
  }

  /** Plays a recording, from `at` seconds after its beginning on. */
  #play(recording, at = 0) {
    this.timeline.choose(null);
    const item = document.querySelector(`.recording[data-url="${CSS.escape(recording.url)}"]`);
    item?.scrollIntoView({ block: "nearest" });
    // The player of a file that was being recorded knows only what was written then.
    if (this.#played === recording.url && at <= this.#player.duration) {
      this.#player.currentTime = at;
      this.#player.play().catch(() => {});
      return;
    }
    this.#close();
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
    const follow = () => {
      if (player !== this.#player) return;
      this.timeline.played = recording.from + (player.readyState > 0 ? player.currentTime : at) * 1000;
    };
    for (const type of ["loadedmetadata", "timeupdate", "seeking"]) player.addEventListener(type, follow);
    this.#player = player;
    this.#played = recording.url;
    byID("recording-live").before(player);
    player.play().catch(() => {});
    item?.setAttribute("aria-current", "true");
    follow();
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
      if (!recording.isPlayable) {
        button.addEventListener("click", () => this.#choose(recording.from));
        button.append(" · pictures only");
        link.remove();
        return item;
      }
      button.addEventListener("click", () => this.#play(recording));
      link.href = recording.url.replace(/^\//, "");
      link.download = recording.url.split("/").slice(-2).join("-");
      link.setAttribute("aria-label", `Save the recording of ${timeOfDay(recording.start)}`);
      return item;
    }));
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

/**
 * Returns the times to jump to: the beginnings of motion, and of the recordings that do not continue another
 * one.
 */
function stops(recordings, events) {
  const isContinued = ({ from }) =>
    recordings.some((other) => other.from < from && from <= other.to + CONTINUED);
  return [
    ...recordings.filter((recording) => !isContinued(recording)).map(({ from }) => ({ time: from, before: 0 })),
    ...events.map(({ from }) => ({ time: from, before: BEFORE_MOTION })),
  ].sort((a, b) => a.time - b.time);
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
