// Moves of lens views: one request at a time, and of each view only the newest; and where the views look until the
// service's next answer.
import { askJSON, movePath } from "./api.js";
import { between, goalOf, isMoving, poseOf, rounded } from "./lens.js";

/** The least time between two requests, in milliseconds: the service accepts 50 moves a second. */
const PACE = 30;

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Sends moves, and predicts them. */
export class Moves {
  /** The newest move of each view that has not been sent, by the keys of tiles. */
  #waiting = new Map();
  /** The last move of each view: from a pose to another one, in milliseconds from a time on. */
  #made = new Map();
  #isBusy = false;

  /** `onProblem(text)` if a view can't be moved; `onMove()` when one is moved. */
  constructor({ onProblem, onMove }) {
    Object.assign(this, { onProblem, onMove });
  }

  /** The pose that a tile's view has, or moves to. */
  goal({ key, view }) { return this.#made.get(key)?.to ?? goalOf(view); }

  /** The pose that a tile's view has now. */
  now({ key, view }) {
    const made = this.#made.get(key);
    if (!made) return poseOf(view);
    return between(made.from, made.to, made.length > 0 ? (performance.now() - made.begun) / made.length : 1);
  }

  /** Whether a tile's view is moving. */
  isMoving({ key, view }) {
    const made = this.#made.get(key);
    return made ? performance.now() < made.begun + made.length : isMoving(view);
  }

  /** Moves a tile's view to a pose within some seconds; `position` is its name, if it has one. */
  send(tile, pose, over = 0, position = null) {
    const [from, to] = [this.now(tile), rounded(pose)];
    this.#made.set(tile.key, { from, to, begun: performance.now(), length: over * 1000, answered: Infinity });
    this.#waiting.set(tile.key, { tile, body: { to: position ?? to, ...(over > 0 && { over: `${over}s` }) } });
    this.onMove();
    this.#drain();
  }

  /**
   * Forgets the moves that an answer with these cameras contains, which was requested at `asked`: those that have ended,
   * or that another client has replaced. The service's clock is not known well enough to follow the others.
   */
  settle(cameras, asked) {
    const views = new Map(cameras.flatMap(({ name, views }) => views.map((view) => [`${name}/${view.name}`, view])));
    for (const [key, made] of this.#made) {
      if (made.answered >= asked) continue;
      const hasEnded = made.begun + made.length < asked;
      const view = views.get(key);
      if (hasEnded || !view || !isSame(made.to, rounded(goalOf(view)))) this.#made.delete(key);
    }
  }

  async #drain() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    while (this.#waiting.size > 0) {
      const [key, { tile, body }] = this.#waiting.entries().next().value;
      const made = this.#made.get(key);
      this.#waiting.delete(key);
      let rest = PACE;
      try {
        await askJSON(movePath(tile.camera.name, tile.view.name), { method: "POST", body });
        made.answered = performance.now();
      } catch (error) {
        if (error.status === 429) {
          // A newer move takes its place.
          if (!this.#waiting.has(key)) this.#waiting.set(key, { tile, body });
          rest = 1000 * (error.retryAfter || 1);
        } else {
          if (this.#made.get(key) === made) this.#made.delete(key);
          const why = error instanceof TypeError ? "the server does not answer." : error.message;
          this.onProblem(`${tile.camera.name} ${tile.view.name} can't be turned: ${why}`);
          this.onMove();
        }
      }
      await pause(rest);
    }
    this.#isBusy = false;
  }
}

/** Whether two poses are the same, as far as both have numbers. */
const isSame = (one, other) =>
  ["yaw", "pitch", "roll", "hfov"].every((key) => !(Math.abs(one[key] - other[key]) > 0.01));
