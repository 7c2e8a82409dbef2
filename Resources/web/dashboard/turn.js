// Turning a lens view by its picture: dragging, pinching, the wheel and keys; and by its named positions.
import { upright } from "./crop.js";
import { facing, fieldOf, limitedField, rayOf, seen, turned } from "./lens.js";
import { direction, say, spokenTurning } from "./words.js";

const byID = (id) => document.getElementById(id);

/** A pointer that has moved less, in pixels, clicks. */
const CLICK = 3;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The positions of a view: their names, and what they set. */
const positionsOf = (view) => Object.entries(view.positions ?? {});

/**
 * Moves a tile's view by a key. Returns whether the key is one that does. A key that is held makes many moves, and
 * each takes place at once.
 */
export function pressed(event, tile, moves) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const { view } = tile;
  const goal = moves.goal(tile);
  const over = event.repeat ? 0 : 0.2;
  const arrow = ARROWS[event.key];
  if (arrow) {
    const step = fieldOf(goal, view, tile.camera, tile.source) / 10;
    const [u, v] = upright(0.5 + arrow[0], 0.5 + arrow[1], view);
    const pitch = Math.min(Math.max(goal.pitch - step * (v - 0.5), -90), 90);
    moves.send(tile, { ...goal, yaw: goal.yaw + step * (u - 0.5), pitch }, over);
  } else if (event.key === "+" || event.key === "=") zoom(tile, moves, 0.9, over);
  else if (event.key === "-") zoom(tile, moves, 1.1, over);
  else if (event.key === "Home") restore(tile, moves);
  else if (event.key.toLowerCase() === "r") level(tile, moves);
  else return false;
  return true;
}

/** Multiplies the field of view. */
function zoom(tile, moves, factor, over) {
  const goal = moves.goal(tile);
  const field = fieldOf(goal, tile.view, tile.camera, tile.source);
  moves.send(tile, { ...goal, hfov: limitedField(field * factor, tile.view) }, over);
}

/** Moves to the first position; without one, straight ahead. */
function restore(tile, moves) {
  const [first] = positionsOf(tile.view);
  if (first) visit(tile, moves, ...first);
  else moves.send(tile, { ...moves.goal(tile), yaw: 0, pitch: 0 }, 1);
}

const visit = (tile, moves, name, position) => moves.send(tile, { ...moves.goal(tile), ...position }, 1, name);

const level = (tile, moves) => moves.send(tile, { ...moves.goal(tile), roll: 0 }, 0.5);

/** The picture of the open view, while that can be turned. */
export class Turning {
  #tile = null;
  /** The pointers that are down, by their numbers. */
  #pointers = new Map();
  /** The pose, the points and the direction that are held; null if no pointer is down. */
  #held = null;

  constructor(canvas, moves) {
    Object.assign(this, { canvas, moves });
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#moved(event));
    for (const type of ["pointerup", "pointercancel"]) canvas.addEventListener(type, (event) => this.#up(event));
    canvas.addEventListener("dblclick", (event) => this.#face(event));
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => {
      if (!this.#isFree || !pressed(event, this.#tile, this.moves)) return;
      // Arrows do not step to other views.
      event.preventDefault();
      event.stopPropagation();
    });
    const buttons = {
      "lens-closer": () => zoom(this.#tile, moves, 0.8, 0.2),
      "lens-wider": () => zoom(this.#tile, moves, 1.25, 0.2),
      "lens-level": () => level(this.#tile, moves),
      "lens-home": () => restore(this.#tile, moves),
    };
    for (const [id, action] of Object.entries(buttons)) byID(id).addEventListener("click", action);
  }

  /** Shows a tile whose view can be turned, or none. */
  show(tile, canControl) {
    const { view } = tile ?? {};
    const canTurn = Boolean(view?.projection) && canControl && !view.locked && view.enabled;
    if (!canTurn || tile.key !== this.#tile?.key) this.#release();
    this.#tile = canTurn ? tile : null;
    this.canvas.classList.toggle("can-turn", canTurn);
    this.canvas.setAttribute("role", canTurn ? "application" : "img");
    byID("lens").hidden = !canTurn;
    if (!canTurn) return this.canvas.removeAttribute("tabindex");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("aria-label", spokenTurning(tile.camera.name, view.name));
    this.#list();
    this.showPose();
  }

  /** Shows where the view looks, or will look. */
  showPose() {
    if (!this.#tile) return;
    const goal = this.moves.goal(this.#tile);
    say(byID("lens-pose"), direction(goal, this.#fieldOf(goal)));
  }

  #list() {
    const [list, positions] = [byID("lens-positions"), positionsOf(this.#tile.view)];
    const key = JSON.stringify([this.#tile.key, positions]);
    list.hidden = positions.length === 0;
    // Buttons that are the same keep the focus.
    if (list.dataset.key === key) return;
    list.dataset.key = key;
    list.replaceChildren(...positions.map(([name, position]) => {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "button", textContent: name });
      button.addEventListener("click", () => visit(this.#tile, this.moves, name, position));
      return button;
    }));
  }

  // ---- Pointers

  /** Whether the picture may be turned: nobody is drawing on it. */
  get #isFree() { return this.#tile !== null && !this.canvas.classList.contains("can-crop"); }

  #fieldOf(pose) { return fieldOf(pose, this.#tile.view, this.#tile.camera, this.#tile.source); }

  #rayOf({ x, y }, field) {
    const box = this.canvas.getBoundingClientRect();
    const [across, down] = [(x - box.left) / box.width, (y - box.top) / box.height];
    return rayOf(across, down, this.#tile.view, field, this.canvas.width / this.canvas.height);
  }

  #down(event) {
    if (!this.#isFree || event.button !== 0 || this.#pointers.size === 2) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.#hold();
  }

  /** Holds the direction under the pointer, or between two pointers. */
  #hold() {
    const [pose, points] = [this.moves.now(this.#tile), gripOf(this.#pointers)];
    const field = this.#fieldOf(pose);
    this.#held = { pose, points, field, ray: seen(this.#rayOf(points, field), pose), hasMoved: points.spread > 0 };
  }

  #moved(event) {
    if (!this.#held || !this.#pointers.has(event.pointerId)) return;
    this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    const [held, points] = [this.#held, gripOf(this.#pointers)];
    held.hasMoved ||= Math.hypot(points.x - held.points.x, points.y - held.points.y) >= CLICK;
    if (!held.hasMoved) return;
    const isPinch = points.spread > 0 && held.points.spread > 0;
    const scale = isPinch ? points.spread / held.points.spread : 1;
    const field = isPinch ? spreadField(held.field, scale, this.#tile.view) : held.field;
    const pose = turned(this.#rayOf(points, field), held.ray, held.pose);
    this.moves.send(this.#tile, isPinch ? { ...pose, hfov: field } : pose);
  }

  #up(event) {
    if (!this.#pointers.delete(event.pointerId)) return;
    if (this.#pointers.size > 0) this.#hold();
    else this.#held = null;
  }

  #release() {
    this.#pointers.clear();
    this.#held = null;
  }

  /** Turns the point that was clicked to the middle. */
  #face(event) {
    if (!this.#isFree) return;
    const [pose, goal] = [this.moves.now(this.#tile), this.moves.goal(this.#tile)];
    const ray = this.#rayOf({ x: event.clientX, y: event.clientY }, this.#fieldOf(pose));
    this.moves.send(this.#tile, facing(seen(ray, pose), goal), 0.5);
  }

  #wheel(event) {
    if (!this.#isFree) return;
    event.preventDefault();
    // Lines, or pixels. A pinch on a touchpad comes as a small turn of the wheel with Ctrl.
    const turn = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1) * (event.ctrlKey ? 10 : 1);
    zoom(this.#tile, this.moves, Math.exp(Math.min(Math.max(turn, -500), 500) / 1000), 0);
  }
}

/** The middle of the pointers, and how far apart two of them are. */
function gripOf(pointers) {
  const [one, other = one] = [...pointers.values()];
  return {
    x: (one.x + other.x) / 2, y: (one.y + other.y) / 2,
    spread: one === other ? 0 : Math.max(Math.hypot(other.x - one.x, other.y - one.y), 1),
  };
}

/** The field of view in which everything is `scale` times as large. */
function spreadField(field, scale, view) {
  const radian = Math.PI / 180;
  const isFlat = view.projection === "flat";
  const zoomed = isFlat ? 2 * Math.atan(Math.tan(field * radian / 2) / scale) / radian : field / scale;
  return limitedField(zoomed, view);
}
