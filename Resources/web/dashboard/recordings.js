// What was recorded of a camera: a timeline, a list, and a player in place of the live picture.
import { ask, askJSON, recordPath } from "./api.js";
import { forHowLong, say, timeOfDay } from "./words.js";

const byID = (id) => document.getElementById(id);
const LISTED = 200;
const TRIGGER_SECONDS = 30;
/** The timeline shows at least so much, in milliseconds. */
const SHORTEST = 600_000;

/** The part of the open view that has the recordings of its camera. */
export class Recordings {
  #camera = null;
  #asked = 0;
  /** While a recording is played. */
  #player = null;
  #played = null;

  /** `onProblem(text)` where something can't be done. */
  constructor(onProblem) {
    this.onProblem = onProblem;
    byID("record").addEventListener("click", () => this.#record());
    byID("recording-live").addEventListener("click", () => this.stop());
  }

  /** Shows those of a camera; null for none. */
  async show(camera, canControl = false) {
    if (camera?.name !== this.#camera) this.stop();
    this.#camera = camera?.name ?? null;
    const number = ++this.#asked;
    const when = camera?.recording?.when;
    byID("record").hidden = !canControl || !["trigger", "motion"].includes(when);
    byID("record").setAttribute("aria-pressed", camera?.recording?.active === true);
    byID("recordings").hidden = !when;
    if (!when) return;
    const words = new URLSearchParams({ camera: camera.name, limit: LISTED });
    const { recordings, peers } = await askJSON(`api/recordings?${words}`).catch(() => ({ recordings: [] }));
    // Another was asked for meanwhile.
    if (number !== this.#asked) return;
    this.#list(recordings, (peers ?? []).filter(({ state }) => state !== "up").map(({ name }) => name));
    this.#draw(recordings);
  }

  /** Back to the live picture. */
  stop() {
    if (!this.#player) return;
    this.#player.remove();
    // So that nothing more of it is fetched.
    this.#player.removeAttribute("src");
    this.#player.load();
    this.#player = this.#played = null;
    byID("stage").classList.remove("has-recording");
    for (const item of document.querySelectorAll(".recording[aria-current]")) item.removeAttribute("aria-current");
  }

  #play(recording, button) {
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
    this.#player = player;
    this.#played = recording.url;
    byID("recording-live").before(player);
    player.play().catch(() => {});
    button.setAttribute("aria-current", "true");
  }

  /** `away` are the nodes whose recordings are missing. */
  #list(recordings, away) {
    const missing = away.length > 0 ? `Those of ${away.join(", ")} are missing: no answer.` : "";
    say(byID("recordings-none"), missing || (recordings.length === 0 ? "None yet." : ""));
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

  /** A bar for each, from the oldest to now. */
  #draw(recordings) {
    const now = Date.now();
    const starts = recordings.map(({ start }) => Date.parse(start));
    const from = Math.min(now - SHORTEST, ...starts);
    const line = byID("timeline");
    line.setAttribute("aria-label", `${recordings.length} recordings since ${timeOfDay(new Date(from))}`);
    line.replaceChildren(...recordings.map((recording, index) => {
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
    }));
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
