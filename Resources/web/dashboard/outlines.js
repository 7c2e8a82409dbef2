// On a fisheye's whole picture: the outline of each lens view of the same camera. Dragging the name in its middle
// turns the view.
import { cover, mapOf } from "./crop.js";
import { facing, fieldOf, idealFisheye, middleOf, outlineOf } from "./lens.js";
import { pressed } from "./turn.js";
import { direction, say, spoken } from "./words.js";

const byID = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

/** The layer of outlines over the picture of the open view. */
export class Outlines {
  #tile = null;
  #canControl = false;
  /** The elements of each outline, by the keys of tiles. */
  #drawn = new Map();
  #frame = 0;

  constructor(canvas, moves) {
    Object.assign(this, { canvas, moves });
    new ResizeObserver(() => this.#place()).observe(canvas);
  }

  /** Shows the outlines that belong on a tile's picture; none for null. */
  show(tile, canControl) {
    [this.#tile, this.#canControl] = [tile, canControl];
    this.#place();
    this.draw();
  }

  #place() { cover(this.canvas, [byID("lens-outlines"), byID("lens-handles")]); }

  /** The other views that look through the lens, with what draws them. */
  get #views() {
    const map = this.#tile && mapOf(this.#tile.view, this.#tile.source);
    if (!map) return [];
    return [...this.#tile.section.tiles.values()].flatMap((tile) => {
      const { camera, view, source } = tile;
      const lens = view.projection && view.enabled ? idealFisheye(view.lens ?? camera.lens, source) : null;
      return lens ? [{ tile, map, lens }] : [];
    });
  }

  /** Draws the outlines, again and again while a view moves. */
  draw() {
    cancelAnimationFrame(this.#frame);
    const views = this.#views;
    const keys = new Set(views.map(({ tile }) => this.#keyOf(tile)));
    for (const [key, { shape, handle }] of this.#drawn) {
      if (keys.has(key)) continue;
      shape.remove();
      handle.remove();
      this.#drawn.delete(key);
    }
    for (const view of views) this.#outline(view);
    if (views.some(({ tile }) => this.moves.isMoving(tile))) this.#frame = requestAnimationFrame(() => this.draw());
  }

  #canTurn({ view }) { return this.#canControl && !view.locked; }

  #keyOf(tile) { return `${tile.key} ${this.#canTurn(tile)}`; }

  #outline({ tile, map, lens }) {
    const { shape, handle } = this.#elements(tile);
    const pose = this.moves.now(tile);
    const field = fieldOf(pose, tile.view, tile.camera, tile.source);
    const place = (ray) => map.toPicture(...lens.toSource(ray));
    const points = outlineOf(tile.view, pose, field, tile.shape).map(place);
    shape.setAttribute("points", points.map(([x, y]) => `${x},${y}`).join(" "));
    const [x, y] = place(middleOf(pose));
    Object.assign(handle.style, { left: `${x * 100}%`, top: `${y * 100}%` });
    if (!this.#canTurn(tile)) return;
    const goal = this.moves.goal(tile);
    handle.title = direction(goal, fieldOf(goal, tile.view, tile.camera, tile.source));
  }

  /** The elements of a view; they stay the same while the user drags. */
  #elements(tile) {
    const key = this.#keyOf(tile);
    const known = this.#drawn.get(key);
    if (known?.tile === tile) return known;
    known?.shape.remove();
    known?.handle.remove();
    const shape = document.createElementNS(SVG, "polygon");
    const handle = document.createElement(this.#canTurn(tile) ? "button" : "span");
    handle.className = "lens-handle";
    handle.dataset.view = tile.view.name;
    say(handle, tile.view.name);
    byID("lens-outlines").append(shape);
    byID("lens-handles").append(handle);
    this.#drawn.set(key, { tile, shape, handle });
    if (this.#canTurn(tile)) this.#listen(handle, tile);
    return { shape, handle };
  }

  #listen(handle, tile) {
    handle.type = "button";
    const name = spoken(tile.camera.name, tile.view.name);
    handle.setAttribute("aria-label", `Turn ${name}: drag it, or use the arrow keys`);
    let held = null;
    handle.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      handle.setPointerCapture(event.pointerId);
      const box = handle.getBoundingClientRect();
      held = { x: event.clientX - box.left - box.width / 2, y: event.clientY - box.top - box.height / 2 };
    });
    handle.addEventListener("pointermove", (event) => {
      if (held) this.#drag(tile, event.clientX - held.x, event.clientY - held.y);
    });
    for (const type of ["pointerup", "pointercancel"]) handle.addEventListener(type, () => { held = null; });
    handle.addEventListener("keydown", (event) => {
      if (!pressed(event, tile, this.moves)) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /** Turns a view to what the picture shows at a point of the window. */
  #drag(tile, clientX, clientY) {
    const found = this.#views.find((view) => view.tile === tile);
    if (!found) return;
    const box = this.canvas.getBoundingClientRect();
    const place = found.map.toSource((clientX - box.left) / box.width, (clientY - box.top) / box.height);
    const ray = found.lens.toDirection(...place);
    this.moves.send(tile, facing(ray, this.moves.goal(tile)));
  }
}
