// Small pictures of the recordings of a camera, by time. They are requested when the first one is needed.
import { ask } from "./api.js";

/** The width of a picture, in pixels of CSS. */
const WIDTH = 160;
const MOST_PICTURES = 98;
/** The times between two pictures, in seconds. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 28_800, 43_200];
/** The longest span, in milliseconds: with its ends rounded, it has at most 31 days. */
const LONGEST = 30 * 86_400_000;
/** How long nothing is requested after a failure, in milliseconds. */
const PAUSE = 10_000;

const inSeconds = (time) => (time / 1000).toFixed(3);

/** The storyboard of one camera. */
export class Storyboard {
  #onLoad;
  #camera = null;
  /** The span of the tiles, in milliseconds since 1970; null without tiles. */
  #span = null;
  #tiles = [];
  /** Pictures of 25 tiles each, by their paths; null for one that is not loaded. */
  #sheets = new Map();
  #request = null;
  #notBefore = 0;

  /** `onLoad()` when there are more pictures than before. */
  constructor(onLoad) { this.#onLoad = onLoad; }

  /** Sets the camera, or null for none. */
  use(camera) {
    if (camera === this.#camera) return;
    this.#request?.abort();
    [this.#camera, this.#span, this.#request, this.#tiles, this.#notBefore] = [camera, null, null, [], 0];
    this.#sheets.clear();
  }

  /** Requests the pictures of a span, unless they are known, at least those up to `time`. */
  want(from, to, time) {
    if (this.#camera === null || this.#request || performance.now() < this.#notBefore) return;
    const [known, span] = [this.#span, spanOf(from, to)];
    const isKnown = known?.step === span.step && known.from <= span.from;
    if (!isKnown || (time >= known.to && span.to > known.to)) this.#load(span);
  }

  /**
   * Returns the picture of a time: the part `{x, y, width, height}` of `image`, and its `url`. Null without one,
   * and while it is loading.
   */
  tileAt(time) {
    const tile = this.#tiles.find(({ from, to }) => from <= time && time < to);
    const image = tile && this.#sheet(tile.sheet);
    return image ? { ...tile, image } : null;
  }

  async #load(span) {
    const request = this.#request = new AbortController();
    const words = new URLSearchParams({
      from: inSeconds(span.from), to: inSeconds(span.to), count: Math.round((span.to - span.from) / span.step),
      width: devicePixelRatio > 1 ? 2 * WIDTH : WIDTH,
    });
    const path = `recordings/${encodeURIComponent(this.#camera)}/storyboard.vtt?${words}`;
    try {
      const tiles = parse(await (await ask(path, { signal: request.signal })).text(), span.from);
      if (request !== this.#request) return;
      [this.#span, this.#tiles] = [span, tiles];
      this.#sheets.clear();
    } catch {
      // The timeline can be used without pictures.
      if (request !== this.#request) return;
      this.#notBefore = performance.now() + PAUSE;
    }
    this.#request = null;
    this.#onLoad();
  }

  /** Returns a sheet; null if it is not loaded. It is requested once. */
  #sheet(path) {
    const sheets = this.#sheets;
    if (!sheets.has(path)) {
      sheets.set(path, null);
      const image = new Image();
      image.src = path;
      image.decode().then(() => {
        if (!sheets.has(path)) return;
        sheets.set(path, image);
        this.#onLoad();
      }, () => setTimeout(() => sheets.delete(path), PAUSE));
    }
    return sheets.get(path);
  }
}

/** Rounds the ends of a span, so that requests within one step have the same URLs. */
function spanOf(from, to) {
  const start = Math.max(from, to - LONGEST);
  const shortest = (to - start) / MOST_PICTURES / 1000;
  const step = (STEPS.find((seconds) => seconds >= shortest) ?? STEPS.at(-1)) * 1000;
  return { from: Math.floor(start / step) * step, to: Math.ceil(to / step) * step, step };
}

/** Parses WebVTT: the tile of each cue, whose times count from `start`. */
function parse(text, start) {
  const lines = text.split(/\r?\n/);
  return lines.flatMap((line, index) => {
    const [, from, to] = /^([\d:.]+)\s+-->\s+([\d:.]+)/.exec(line) ?? [];
    const url = lines[index + 1] ?? "";
    const place = /^\/?(.*)#xywh=(\d+),(\d+),(\d+),(\d+)$/.exec(url);
    if (from === undefined || !place) return [];
    const [x, y, width, height] = place.slice(2).map(Number);
    return [{ from: start + duration(from), to: start + duration(to), sheet: place[1], url, x, y, width, height }];
  });
}

/** Milliseconds from `HH:MM:SS.mmm` or `MM:SS.mmm`. */
const duration = (text) => Math.round(text.split(":").reduce((sum, part) => sum * 60 + Number(part), 0) * 1000);
