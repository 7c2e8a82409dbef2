// One view as H.264: fetched, played by Media Source Extensions, and drawn in place of its JPEGs.
import { Live } from "./stream.js";

/** The delay in seconds above which it plays a little faster; above `VERY_LATE` it jumps. */
const LATE = 0.1;
const VERY_LATE = 1;
/** The least that stays buffered after it was played, in seconds. */
const KEPT = 5;
/** How long the first picture may take, in milliseconds. */
const PATIENCE = 5000;
/** How long JPEGs are shown before video is tried again, in milliseconds. */
const PAUSE = 60_000;

const canPlay = () =>
  "MediaSource" in window && "requestVideoFrameCallback" in HTMLVideoElement.prototype
  && MediaSource.isTypeSupported('video/mp4; codecs="avc1.42c028"');

/** Plays a stream of fragments. */
class Player {
  #video = document.createElement("video");
  #source = new MediaSource();
  #buffer;
  #keyframe;

  /** `keyframe()` returns the longest time between two keyframes, in seconds. */
  constructor(type, keyframe, onFrame) {
    this.#keyframe = keyframe;
    Object.assign(this.#video, { muted: true, playsInline: true, disableRemotePlayback: true, className: "player" });
    // Browsers only play a video that is in the page.
    document.body.append(this.#video);
    const drawn = () => {
      onFrame(this.#video);
      this.#video.requestVideoFrameCallback(drawn);
    };
    this.#video.requestVideoFrameCallback(drawn);
    this.#buffer = new Promise((resolve, reject) => {
      this.#source.addEventListener("sourceopen", () => {
        try {
          resolve(this.#source.addSourceBuffer(type));
        } catch (error) {
          reject(error);
        }
      }, { once: true });
    });
    this.#video.src = URL.createObjectURL(this.#source);
  }

  async push(bytes) {
    const buffer = await this.#buffer;
    await this.#change(buffer, () => buffer.appendBuffer(bytes));
    const { currentTime } = this.#video;
    const { buffered } = buffer;
    if (buffered.length === 0) return;
    // Removal extends to the next keyframe, so a keyframe that was already played must remain.
    const kept = Math.max(KEPT, this.#keyframe() + 1);
    if (buffered.start(0) < currentTime - 2 * kept) {
      await this.#change(buffer, () => buffer.remove(0, currentTime - kept));
    }
    const last = buffered.length - 1;
    const end = buffered.end(last);
    // Also jumps over gaps, which the browser does not play across.
    if (end - currentTime > VERY_LATE || currentTime < buffered.start(last)) {
      this.#video.currentTime = Math.max(buffered.start(last), end - LATE / 2);
    }
    this.#video.playbackRate = end - currentTime > 3 * LATE ? 1.25 : end - currentTime > LATE ? 1.05 : 1;
    if (this.#video.paused) this.#video.play().catch(() => {});
  }

  close() {
    URL.revokeObjectURL(this.#video.src);
    this.#video.removeAttribute("src");
    this.#video.load();
    this.#video.remove();
  }

  #change(buffer, change) {
    return new Promise((resolve, reject) => {
      const done = () => {
        buffer.removeEventListener("updateend", done);
        if (this.#video.error) reject(this.#video.error);
        else resolve();
      };
      buffer.addEventListener("updateend", done);
      change();
    });
  }
}

/** The connection of the one view that is played. */
export class LiveVideo extends Live {
  #onFail;
  #notBefore = canPlay() ? 0 : Infinity;
  #ends = [];
  /** The pause after a video without a picture; doubles each time. */
  #pause = PAUSE;
  /** The longest time between two keyframes of the wanted view, in seconds. */
  keyframe = 10;

  /**
   * `onFrame(video)` for each picture; `onFail()` when JPEGs should be used instead; `onState` as in `Live`.
   */
  constructor(onFrame, onFail, onState) {
    super((response) => {
      const timer = setTimeout(() => {
        this.#fail("no picture arrived", this.#pause);
        this.#pause *= 2;
      }, PATIENCE);
      const player = new Player(response.headers.get("content-type"), () => this.keyframe, (video) => {
        clearTimeout(timer);
        this.#pause = PAUSE;
        onFrame(video);
      });
      return {
        push: (bytes) => player.push(bytes),
        close: () => {
          clearTimeout(timer);
          player.close();
        },
      };
    }, onState);
    this.#onFail = onFail;
  }

  /** Whether this browser and the service support video, as far as known. */
  get isUsable() { return performance.now() >= this.#notBefore; }

  ended(error) {
    // A broken connection is opened again.
    if (error instanceof TypeError) return;
    const now = performance.now();
    this.#ends = [...this.#ends, now].filter((time) => time > now - 20_000);
    // A browser that can't decode it, or a service without an encoder, will not change in a minute.
    const isFinal = error && (!error.status || error.status === 501);
    if (error || this.#ends.length > 3) this.#fail(error?.message ?? "it keeps ending", isFinal ? Infinity : PAUSE);
  }

  #fail(reason, pause) {
    console.info(`Video: ${reason}; showing JPEGs`);
    this.#notBefore = performance.now() + pause;
    this.#onFail();
  }
}
