// The timeline of the open camera: its recordings, motion and outages, the picture of the time at the pointer,
// and the span to save.
import { Storyboard } from "./storyboard.js";
import { count, forHowLong, moment, say, stateName, timeOfDay } from "./words.js";

const byID = (id) => document.getElementById(id);
/** The shortest span, in milliseconds. */
const SHORTEST = 600_000;
/** The number of steps of the arrow keys. */
const STEPS = 100;
/** The width of the narrowest bars and marks, as in the style sheet, in pixels. */
const NARROWEST = 4;
/** The shortest drag that selects a span, in pixels. */
const SHORTEST_DRAG = 4;

const element = (kind) => Object.assign(document.createElement("i"), { className: kind });

/** A slider over the time from the oldest recording to now. Times are in milliseconds since 1970. */
export class Timeline {
  #from = 0;
  #to = 0;
  #recordings = [];
  #events = [];
  #outages = [];
  /** The time at the pointer; null without one. */
  #pointed = null;
  /** The time that was chosen by keys or buttons; null for that of the player. */
  #chosen = null;
  #played = null;
  /** Where a button or a finger went down: `{time, x, isSelecting}`. */
  #press = null;
  #line = byID("timeline");
  #cursor = element("cursor");
  #pointer = element("pointer");
  #part = element("part");
  #storyboard = new Storyboard(() => this.#preview());

  /**
   * `onPlay(time, event)` when the user wants to see a time, `event` if that is an event of motion;
   * `onSelect(from, to)` when the user has selected a span; `onMove()` when `time` has changed.
   */
  constructor({ onPlay, onSelect, onMove }) {
    Object.assign(this, { onPlay, onSelect, onMove });
    const line = this.#line;
    line.addEventListener("pointerdown", (event) => this.#down(event));
    line.addEventListener("pointermove", (event) => this.#move(event));
    line.addEventListener("pointerup", (event) => this.#up(event));
    line.addEventListener("pointerleave", () => this.#leave());
    line.addEventListener("pointercancel", () => this.#leave());
    line.addEventListener("blur", () => this.#leave());
    line.addEventListener("keydown", (event) => this.#key(event));
    [this.#cursor.hidden, this.#pointer.hidden, this.#part.hidden] = [true, true, true];
  }

  /** The time that was chosen or is played; null for the live picture. */
  get time() { return this.#chosen ?? this.#played; }

  /** The time of the player; null without one. */
  set played(time) {
    this.#played = time;
    this.#moved();
  }

  /** Moves the cursor to a time; null for that of the player. */
  choose(time) {
    this.#chosen = time;
    this.#moved();
    this.#speak();
  }

  /** Marks the span that is to be saved, or none. */
  select(span) {
    this.#part.hidden = span === null || span.to < this.#from || span.from > this.#to;
    if (span) this.#place(this.#part, Math.max(span.from, this.#from), Math.min(span.to, this.#to));
  }

  /** The motion events that are shown, each `{event, from, to}`. */
  get events() { return this.#events; }

  get isEmpty() { return this.#recordings.length + this.#events.length === 0; }

  /**
   * Shows a camera. `recordings`, the newest first, also have their times as `from` and `to`, and say whether this
   * client can play them as `isPlayable`.
   */
  show(camera, recordings, { motion, states }, now) {
    const from = Math.min(now - SHORTEST, ...recordings.map((recording) => recording.from));
    [this.#from, this.#to, this.#recordings] = [from, now, recordings];
    this.#events = motion.filter(({ last }) => Date.parse(last) >= from).map((event) => (
      { event, from: Math.max(from, Date.parse(event.since)), to: Date.parse(event.last) }));
    this.#outages = states.flatMap(({ state, since, reason }, index) => {
      const to = Date.parse(states[index + 1]?.since ?? new Date(now));
      return state === "live" || to < from ? [] : [{ state, reason, from: Math.max(from, Date.parse(since)), to }];
    });
    this.#storyboard.use(recordings.length > 0 ? camera : null);
    this.#draw();
  }

  /** Forgets the camera. */
  clear() {
    [this.#recordings, this.#events, this.#outages, this.#press] = [[], [], [], null];
    this.#storyboard.use(null);
    this.#leave();
  }

  /** Returns the recording of a time; null if there is none. A very short one is as long as its bar is wide. */
  recordingAt(time) {
    return this.#recordings.find(({ from, to }) => from <= time && time <= to)
      ?? this.#recordings.find(({ from }) => from <= time && time <= from + this.#narrowest) ?? null;
  }

  // ---- Drawing

  #draw() {
    const mark = (kind, { from, to }) => this.#place(element(kind), from, to);
    this.#line.replaceChildren(
      ...this.#outages.map((outage) => mark("outage", outage)),
      ...this.#recordings.map((recording) => mark("recorded", recording)),
      ...this.#events.map((event) => mark("moved", event)),
      this.#part, this.#cursor, this.#pointer);
    this.#line.tabIndex = this.isEmpty ? -1 : 0;
    this.#line.setAttribute("aria-label",
      `${count(this.#recordings.length, "recording")}, ${count(this.#events.length, "motion event")} and `
      + `${count(this.#outages.length, "outage")} since ${timeOfDay(new Date(this.#from))}`);
    say(byID("timeline-from"), forHowLong(new Date(this.#from).toISOString()).replace(/^for (.+)$/, "$1 ago"));
    this.#moved();
    this.#speak();
    this.#preview();
  }

  #place(mark, from, to) {
    const whole = this.#to - this.#from;
    mark.style.setProperty("--at", (from - this.#from) / whole);
    mark.style.setProperty("--of", (to - from) / whole);
    return mark;
  }

  #moved() {
    this.#cursor.hidden = this.time === null;
    if (this.time !== null) this.#place(this.#cursor, this.time, this.time);
    this.onMove();
  }

  /** Tells screen readers the time. */
  #speak() {
    const time = this.time ?? this.#to;
    const values = {
      valuemin: 0, valuemax: Math.round((this.#to - this.#from) / 1000),
      valuenow: Math.max(0, Math.round((time - this.#from) / 1000)),
      valuetext: this.time === null ? "now" : `${clock(time)}, ${this.#about(time) || "recorded"}`,
    };
    for (const [name, value] of Object.entries(values)) this.#line.setAttribute(`aria-${name}`, value);
  }

  /** Shows the picture and the clock time at the pointer. */
  #preview() {
    const [time, preview, canvas] = [this.#pointed, byID("timeline-preview"), byID("timeline-picture")];
    preview.hidden = this.#pointer.hidden = time === null || this.isEmpty;
    if (preview.hidden) return;
    this.#place(this.#pointer, time, time);
    this.#place(preview, time, time);
    say(byID("timeline-time"), clock(time));
    say(byID("timeline-about"), this.#about(time));
    const recording = this.recordingAt(time);
    const tile = this.#storyboard.tileAt(time) ?? (recording && this.#storyboard.tileAt(recording.from));
    canvas.hidden = !tile;
    canvas.dataset.tile = tile?.url ?? "";
    if (!tile) return;
    [canvas.width, canvas.height] = [tile.width, tile.height];
    canvas.getContext("2d").drawImage(
      tile.image, tile.x, tile.y, tile.width, tile.height, 0, 0, tile.width, tile.height);
  }

  /** Describes a time, unless it is only recorded. */
  #about(time) {
    const event = this.#eventAt(time)?.event;
    if (event) return [`Motion at ${timeOfDay(event.since)}`, event.label, ...event.zones].filter(Boolean).join(", ");
    const outage = this.#outages.find(({ from, to }) => from <= time && time <= to);
    if (outage) {
      const { state, reason, from, to } = outage;
      const span = `${stateName(state)} from ${timeOfDay(from / 1000)} to ${timeOfDay(to / 1000)}`;
      return reason ? `${span}: ${reason}` : span;
    }
    const recording = this.recordingAt(time);
    if (!recording) return "No recording";
    return recording.isPlayable ? "" : "Pictures only: the video needs the role control";
  }

  /** How long the narrowest mark is. */
  get #narrowest() { return NARROWEST * (this.#to - this.#from) / (this.#line.clientWidth || 1); }

  #eventAt(time) {
    return this.#events.findLast(({ from, to }) => from <= time && time <= Math.max(to, from + this.#narrowest));
  }

  // ---- Pointers and keys

  #timeAt({ clientX }) {
    const { left } = this.#line.getBoundingClientRect();
    const fraction = (clientX - left - this.#line.clientLeft) / (this.#line.clientWidth || 1);
    return this.#from + Math.min(Math.max(fraction, 0), 1) * (this.#to - this.#from);
  }

  #down(event) {
    if (!event.isPrimary || event.button !== 0 || this.isEmpty) return;
    this.#line.setPointerCapture(event.pointerId);
    const isSelecting = event.shiftKey && this.#recordings.length > 0;
    this.#press = { time: this.#timeAt(event), x: event.clientX, isSelecting };
    this.#point(this.#press.time);
  }

  #move(event) {
    if (!event.isPrimary || this.isEmpty) return;
    const time = this.#timeAt(event);
    this.#point(time);
    if (this.#press?.isSelecting) this.select(between(this.#press.time, time));
  }

  #up(event) {
    const press = this.#press;
    if (!press || !event.isPrimary) return;
    this.#press = null;
    const time = this.#timeAt(event);
    if (press.isSelecting && Math.abs(event.clientX - press.x) >= SHORTEST_DRAG) {
      const { from, to } = between(press.time, time);
      this.onSelect(from, to);
    } else {
      this.#play(time);
    }
  }

  #leave() {
    this.#press = null;
    this.#point(null);
  }

  #point(time) {
    if (time !== null) this.#storyboard.want(this.#from, this.#to, time);
    this.#pointed = time;
    this.#preview();
  }

  /** A narrow mark of motion stands for its event, everything else for the time itself. */
  #play(time) {
    const found = this.#eventAt(time);
    const isEvent = found && (found.to - found.from < this.#narrowest || !this.recordingAt(time));
    this.onPlay(time, isEvent ? found.event : null);
  }

  #key(event) {
    if (this.isEmpty || event.ctrlKey || event.metaKey || event.altKey) return;
    const now = this.time ?? this.#to;
    const step = (this.#to - this.#from) / STEPS;
    const next = {
      ArrowLeft: now - step, ArrowDown: now - step, ArrowRight: now + step, ArrowUp: now + step,
      PageDown: now - 10 * step, PageUp: now + 10 * step, Home: this.#from, End: this.#to,
    }[event.key];
    const isPlay = event.key === "Enter" || event.key === " ";
    if (next === undefined && !isPlay) return;
    // Elsewhere on the page, arrows move to another view.
    event.preventDefault();
    event.stopPropagation();
    if (isPlay) {
      this.#point(null);
      return this.#play(now);
    }
    this.choose(Math.min(Math.max(next, this.#from), this.#to));
    this.#point(this.#chosen);
  }
}

/** The day, unless it is today, and the time of day. */
const clock = (time) => moment(new Date(time).toISOString());

const between = (a, b) => ({ from: Math.min(a, b), to: Math.max(a, b) });
