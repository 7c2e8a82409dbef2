// Saves a span of the recordings of a camera as one file, or one picture of them.
import { ask } from "./api.js";
import { say } from "./words.js";

const byID = (id) => document.getElementById(id);

/** The links below the timeline, and the form of the span. Times are in milliseconds since 1970. */
export class Saving {
  #camera = null;
  #recordings = [];
  /** The time of the picture; null for the newest one. */
  #time = null;
  /** The span that the user has chosen; null for that of a recording. */
  #chosen = null;

  /** `onSpan(span)` when another span is shown, or null; `onProblem(text)` if something can't be saved. */
  constructor({ onSpan, onProblem }) {
    Object.assign(this, { onSpan, onProblem });
    this.fields = [byID("save-from"), byID("save-to")];
    for (const field of this.fields) field.addEventListener("change", () => this.#typed());
    byID("saving").addEventListener("toggle", () => this.#showSpan());
    byID("save-video").addEventListener("click", (event) => this.#save(event, "The span"));
    byID("save-picture").addEventListener("click", (event) => this.#save(event, "The picture"));
  }

  /** Shows a camera and its recordings, the newest first; null and none without one. */
  show(camera, recordings) {
    if (camera !== this.#camera) {
      this.#chosen = null;
      byID("saving").open = false;
    }
    [this.#camera, this.#recordings] = [camera, recordings];
    byID("saving").hidden = !recordings.some(({ isPlayable }) => isPlayable);
    byID("save-picture").hidden = recordings.length === 0;
    this.#showSpan();
    this.#showPicture();
  }

  /** Sets the time of the picture; null for the newest one. */
  move(time) {
    if (time === this.#time) return;
    this.#time = time;
    this.#showPicture();
    if (this.#chosen === null) this.#showSpan();
  }

  /** Sets the span, and opens its form. */
  choose(from, to) {
    this.#chosen = { from, to };
    byID("saving").open = true;
    this.#showSpan();
  }

  #typed() {
    const [from, to] = this.fields.map(({ value }) => Date.parse(value));
    this.#chosen = { from, to };
    this.#showSpan();
  }

  /** The recording at the time of the picture; undefined if there is none. */
  get #current() {
    const time = this.#time;
    return time === null ? undefined : this.#recordings.find(({ from, to }) => from <= time && time <= to);
  }

  /** The chosen span, or else that of the current or newest recording, in whole seconds; null without one. */
  get #span() {
    const span = this.#chosen ?? this.#current ?? this.#recordings[0];
    return span ? { from: Math.floor(span.from / 1000) * 1000, to: Math.ceil(span.to / 1000) * 1000 } : null;
  }

  #showSpan() {
    const span = this.#span;
    const isValid = span !== null && span.from < span.to;
    const times = span ? [span.from, span.to] : [];
    this.fields.forEach((field, index) => {
      const text = localText(times[index]);
      // A field keeps its content while the user types in it.
      if (document.activeElement !== field && Date.parse(field.value) !== Date.parse(text)) field.value = text;
      field.setAttribute("aria-invalid", span !== null && !isValid);
    });
    const first = isValid && this.#recordings.findLast(({ to }) => to > span.from);
    const isPermitted = !first || this.#recordings.every(({ view, from, to, isPlayable }) =>
      isPlayable || view !== first.view || to <= span.from || from >= span.to);
    byID("save-problem").hidden = (isValid && isPermitted) || span === null;
    say(byID("save-problem"), !isValid ? "The end must be after the beginning."
      : isPermitted ? "" : "The role control is required for a part of this span.");
    this.#link(byID("save-video"), "mp4", isValid && isPermitted && {
      from: (span.from / 1000).toFixed(3), to: (span.to / 1000).toFixed(3), ...(first && { view: first.view }),
    });
    this.onSpan(byID("saving").open && isValid ? span : null);
  }

  #showPicture() {
    const current = this.#current;
    this.#link(byID("save-picture"), "jpg", {
      at: this.#time === null ? "latest" : (this.#time / 1000).toFixed(3), ...(current && { view: current.view }),
    });
  }

  #link(link, type, words) {
    link.setAttribute("aria-disabled", !words);
    if (!words || this.#camera === null) return link.removeAttribute("href");
    link.setAttribute("href",
      `recordings/${encodeURIComponent(this.#camera)}.${type}?${new URLSearchParams({ ...words, download: 1 })}`);
  }

  /** Lets the browser save a file, or shows why the service refuses it: browsers do not. */
  async #save(event, name) {
    const path = event.currentTarget.getAttribute("href");
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (path === null) return;
    const trial = new AbortController();
    try {
      await ask(path, { signal: trial.signal });
    } catch (error) {
      return this.onProblem(`${name} can't be saved: ${error.message}`);
    } finally {
      trial.abort();
    }
    Object.assign(document.createElement("a"), { href: path, download: "" }).click();
  }
}

/** A time as a field for a local date and time has it; empty without one. */
function localText(time) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  return new Date(time - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
