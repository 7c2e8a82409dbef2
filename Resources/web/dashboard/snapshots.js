// Snapshots: taken on request. Those of any client are shown as toasts.
import { askJSON, snapshotPath } from "./api.js";
import { timeOfDay } from "./words.js";

const STAY = 7000;
const MOST = 4;
const THUMBS = 4;

/** Toasts, one for each frame of a snapshot, with a round picture of each view (at most four). */
export class Snapshots {
  #toasts = new Map();
  #list = document.getElementById("toasts");

  /** `onProblem(text)` if a snapshot can't be taken. */
  constructor(onProblem) {
    this.onProblem = onProblem;
    // Toasts stay while the user reads or is about to click.
    for (const type of ["pointerenter", "focusin"]) this.#list.addEventListener(type, () => this.#hold());
    for (const type of ["pointerleave", "focusout"]) this.#list.addEventListener(type, () => this.#release());
  }

  /** Takes a snapshot of all views from a camera's next frame. */
  async take(camera) {
    try {
      const answer = await askJSON(snapshotPath(camera), { method: "POST" });
      const toast = this.#toast(answer.camera, answer.sequence, answer.timestamp);
      for (const { view, snapshot } of answer.pictures) toast.add(view, snapshot);
      toast.offer(answer);
    } catch (error) {
      this.onProblem(`No snapshot of ${camera}: ${error.message}`);
    }
  }

  /** Shows a snapshot from an event of the service. A late event may have no picture any more. */
  show(event) {
    if (!event.snapshot) return;
    this.#toast(event.camera, event.sequence, event.timestamp).add(event.view, event.snapshot);
  }

  #toast(camera, sequence, timestamp) {
    const key = `${camera}/${sequence}`;
    let toast = this.#toasts.get(key);
    if (!toast) {
      toast = new Toast(camera, timestamp, () => this.#remove(key));
      this.#toasts.set(key, toast);
      this.#list.append(toast.element);
      const [oldest] = this.#toasts.keys();
      if (this.#toasts.size > MOST) this.#remove(oldest);
    }
    toast.stay();
    return toast;
  }

  #remove(key) {
    this.#toasts.get(key)?.end();
    this.#toasts.delete(key);
  }

  #hold() { for (const toast of this.#toasts.values()) toast.hold(); }
  #release() { for (const toast of this.#toasts.values()) toast.stay(); }
}

class Toast {
  #timer = 0;
  #views = new Set();
  #links = [];

  constructor(camera, timestamp, onEnd) {
    this.camera = camera;
    this.onEnd = onEnd;
    this.time = timeOfDay(timestamp);
    this.element = document.getElementById("toast-template").content.firstElementChild.cloneNode(true);
    this.element.dataset.camera = camera;
    this.element.querySelector("strong").textContent = camera;
    this.element.querySelector(".toast-close").addEventListener("click", onEnd);
  }

  /** Adds a view's picture: a JPEG in base64. */
  add(view, picture) {
    if (this.#views.has(view)) return;
    this.#views.add(view);
    const thumbs = this.element.querySelector(".toast-thumbs");
    if (thumbs.childElementCount < THUMBS) {
      const image = new Image();
      image.alt = view;
      image.src = `data:image/jpeg;base64,${picture}`;
      thumbs.append(image);
    }
    const what = this.#views.size === 1 ? view : `${this.#views.size} views`;
    this.element.querySelector(".toast-text span").textContent = `Snapshot at ${this.time} · ${what}`;
  }

  /** Offers the full pictures for saving, if this page has requested them. */
  offer({ camera, sequence, pictures }) {
    const save = this.element.querySelector(".toast-save");
    this.#links = pictures.map(({ view, snapshot }) => {
      const link = document.createElement("a");
      const bytes = Uint8Array.from(atob(snapshot), (character) => character.charCodeAt(0));
      link.href = URL.createObjectURL(new Blob([bytes], { type: "image/jpeg" }));
      link.download = `${camera}-${view}-${sequence}.jpg`;
      return link;
    });
    save.hidden = false;
    save.href = this.#links[0]?.href ?? "";
    save.download = this.#links[0]?.download ?? "";
    save.addEventListener("click", () => {
      for (const link of this.#links.slice(1)) link.click();
    });
  }

  stay() {
    this.hold();
    this.#timer = setTimeout(this.onEnd, STAY);
  }

  hold() { clearTimeout(this.#timer); }

  end() {
    this.hold();
    this.element.remove();
    // A download that has just begun still reads the URLs.
    setTimeout(() => { for (const link of this.#links) URL.revokeObjectURL(link.href); }, 10_000);
  }
}
