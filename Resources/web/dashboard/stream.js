// Live pictures: one request for all visible views, parsed as it comes and repeated when it ends; and the
// canvases that show them.
import { ask } from "./api.js";

const LONGEST_HEAD = 16 << 10;
const LARGEST_PART = 32 << 20;

/** Parses `multipart/x-mixed-replace` by Content-Length; the bytes may be split anywhere. */
export class MultipartParser {
  #onPart;
  #head = "";
  #headers = null;
  #body = null;
  #filled = 0;

  /** `onPart(headers, body)`: a Map with lower-case names, and a Uint8Array that the receiver owns. */
  constructor(onPart) { this.#onPart = onPart; }

  push(bytes) {
    let at = 0;
    while (at < bytes.length) {
      at = this.#body ? this.#fill(bytes, at) : this.#readHead(bytes, at);
    }
  }

  #readHead(bytes, start) {
    for (let at = start; at < bytes.length; at++) {
      this.#head += String.fromCharCode(bytes[at]);
      if (bytes[at] === 10 && this.#head.endsWith("\r\n\r\n")) {
        this.#begin();
        return at + 1;
      }
    }
    if (this.#head.length > LONGEST_HEAD) throw new Error("Invalid stream: the header of a part has no end.");
    return bytes.length;
  }

  #begin() {
    this.#headers = new Map();
    for (const line of this.#head.split("\r\n")) {
      const colon = line.indexOf(":");
      if (colon > 0) this.#headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    this.#head = "";
    const length = Number(this.#headers.get("content-length") ?? NaN);
    if (!Number.isInteger(length) || length < 0 || length > LARGEST_PART) {
      throw new Error("Invalid stream: a part has no valid length.");
    }
    this.#body = new Uint8Array(length);
    this.#filled = 0;
    if (length === 0) this.#end();
  }

  #fill(bytes, at) {
    const count = Math.min(bytes.length - at, this.#body.length - this.#filled);
    this.#body.set(bytes.subarray(at, at + count), this.#filled);
    this.#filled += count;
    if (this.#filled === this.#body.length) this.#end();
    return at + count;
  }

  #end() {
    const [headers, body] = [this.#headers, this.#body];
    this.#headers = this.#body = null;
    this.#onPart(headers, body);
  }
}

// The service repeats a picture at least once a second, so a longer silence means that the connection is
// lost.
const SILENCE = 10_000;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;

/** A connection that is opened again when it ends. There is none while no path is wanted. */
export class Live {
  #open;
  #onState;
  #path = null;
  #connection = null;
  #last = Promise.resolve();
  #pause = FIRST_PAUSE;
  #timer = 0;

  /**
   * `open(response)` returns `{push(bytes), close()}` for the data, where `push` may be asynchronous;
   * `onState("idle" | "connecting" | "open" | "waiting", retryAt)` reports changes.
   */
  constructor(open, onState) {
    this.#open = open;
    this.#onState = onState;
  }

  /** Sets the path to request, or null for none. The same path again changes nothing. */
  want(path) {
    if (path === this.#path) return;
    this.#path = path;
    this.#pause = FIRST_PAUSE;
    this.retryNow();
  }

  /** Connects again at once. */
  retryNow() {
    clearTimeout(this.#timer);
    this.#connection?.abort();
    this.#connection = null;
    if (this.#path === null) return this.#onState("idle");
    const connection = this.#connection = new AbortController();
    const path = this.#path;
    // Not before the last one has ended: two at a time would compete with each other.
    this.#last = this.#last.then(() => this.#run(path, connection));
  }

  async #run(path, connection) {
    if (connection.signal.aborted) return;
    this.#onState("connecting");
    let [watch, sink, failure] = [0, null, null];
    try {
      const response = await ask(path, { signal: connection.signal });
      const reader = response.body.getReader();
      sink = this.#open(response);
      const lost = () => reader.cancel(new Error("silence")).catch(() => {});
      watch = setTimeout(lost, SILENCE);
      this.#onState("open");
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        clearTimeout(watch);
        watch = setTimeout(lost, SILENCE);
        await sink.push(value);
        this.#pause = FIRST_PAUSE;
      }
    } catch (error) {
      if (!connection.signal.aborted) console.info(`Live pictures: ${error.message}`);
      failure = error;
    } finally {
      clearTimeout(watch);
    }
    sink?.close();
    if (connection !== this.#connection) return;
    connection.abort();
    this.ended(failure);
    // Another path may be wanted now.
    if (connection === this.#connection) this.#wait();
  }

  /** Called when a connection that was still wanted has ended, with the error or null. */
  ended() {}

  /** Waits with backoff, and with jitter so that browsers do not reconnect all at once. */
  #wait() {
    const pause = this.#pause * (0.75 + Math.random() / 2);
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
    this.#onState("waiting", Date.now() + pause);
    this.#timer = setTimeout(() => this.retryNow(), pause);
  }
}

/** JPEGs of many views. */
export class LiveStream extends Live {
  /** `onPicture({camera, view, sequence, timestamp, state, blob})` for each part; `onState` as in `Live`. */
  constructor(onPicture, onState) {
    super(() => {
      const parser = new MultipartParser((headers, body) => onPicture({
        camera: headers.get("x-camera"),
        view: headers.get("x-view"),
        sequence: Number(headers.get("x-frame-sequence")),
        timestamp: Number(headers.get("x-timestamp")),
        state: headers.get("x-source-state") ?? "live",
        blob: new Blob([body], { type: headers.get("content-type") ?? "image/jpeg" }),
      }));
      return { push: (bytes) => parser.push(bytes), close: () => {} };
    }, onState);
  }
}

/** A canvas that shows the newest picture. While one is decoded, only the newest of the others waits. */
export class Screen {
  #next = null;
  #isBusy = false;
  #times = [];
  #epoch = 0;

  /** `onShape({width, height})` when the size of pictures changes. */
  constructor(canvas, onShape = () => {}) {
    this.canvas = canvas;
    this.onShape = onShape;
    this.context = canvas.getContext("2d", { alpha: false });
  }

  show(blob) {
    this.#next = blob;
    if (!this.#isBusy) this.#drain();
  }

  /** Draws the current picture of a video. */
  draw(video) {
    this.#next = null;
    this.#epoch++;
    this.#fit(video.videoWidth, video.videoHeight);
    this.context.drawImage(video, 0, 0);
    this.#count();
  }

  #count() { this.#times = [...this.#times.slice(-89), performance.now()]; }

  /** Shows another canvas's content until a picture comes. */
  copy(other) {
    this.#fit(other.width, other.height);
    this.context.drawImage(other, 0, 0);
  }

  /** Drops waiting pictures: those that follow are from another view. */
  clear() {
    this.#next = null;
    this.#times = [];
    this.#epoch++;
  }

  /** The number of pictures a second, over the last 3 seconds. */
  get rate() {
    const recent = this.#times.filter((time) => time > performance.now() - 3000);
    return recent.length < 2 ? 0 : (recent.length - 1) * 1000 / (recent.at(-1) - recent[0]);
  }

  async #drain() {
    this.#isBusy = true;
    while (this.#next) {
      const [blob, epoch] = [this.#next, this.#epoch];
      this.#next = null;
      const picture = await createImageBitmap(blob).catch(() => null);
      if (!picture) continue;
      if (epoch === this.#epoch) {
        this.#fit(picture.width, picture.height);
        this.context.drawImage(picture, 0, 0);
      }
      picture.close();
      this.#count();
    }
    this.#isBusy = false;
  }

  #fit(width, height) {
    if (this.canvas.width === width && this.canvas.height === height) return;
    [this.canvas.width, this.canvas.height] = [width, height];
    this.onShape({ width, height });
  }
}
