// The overview: a group for each node, a section for each camera and scene, and a tile for each view.
// Elements are reused from one answer to the next.
import { isWarped, sizeOf } from "./crop.js";
import { Screen } from "./stream.js";
import { count, forHowLong, format, nodeStateName, rate, say, size, spoken, stateName } from "./words.js";

const clone = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);
const find = (element, name) => element.querySelector(`.${name}`);

/** A view's picture, with its name and a few facts. */
export class Tile {
  /** `onOpen(tile)` when the user opens the tile. */
  constructor(section, camera, view, onOpen) {
    this.section = section;
    this.key = `${camera.name}/${view.name}`;
    this.element = clone("tile-template");
    this.element.dataset.key = this.key;
    this.button = find(this.element, "tile-open");
    this.button.addEventListener("click", () => onOpen(this));
    this.screen = new Screen(this.element.querySelector("canvas"), (size) => this.measure(size));
    this.shape = 16 / 9;
    this.isSeen = false;
    this.update(camera, view);
  }

  update(camera, view) {
    this.camera = camera;
    this.view = view;
    const known = sizeOf(view, this.source);
    if (known) this.shape = known.width / known.height;
    find(this.element, "tile-name").textContent = view.name;
    find(this.element, "tile-lock").toggleAttribute("hidden", !view.locked);
    say(find(this.element, "tile-meta"),
      [known && size(known), view.fps > 0 && rate(view.fps)].filter(Boolean).join(" · "));
    const watchers = find(this.element, "tile-watchers");
    watchers.hidden = !(view.clients >= 2);
    watchers.title = `${view.clients} watching`;
    watchers.lastElementChild.textContent = view.clients;
    this.showState(camera.state);
  }

  /** The size of the source, which crops refer to; null if not known yet. */
  get source() { return this.section.source; }

  /** Learns the source's size from a picture that shows the whole source. */
  measure({ width, height }) {
    const { rotate, crop, width: wide, height: high } = this.view;
    if (this.element.dataset.state === "live" && !crop && !wide && !high && !isWarped(this.view)) {
      this.section.seen = rotate % 180 === 0 ? { width, height } : { width: height, height: width };
    }
    this.shape = width / height;
    this.section.arrange();
  }

  /** Shows the state over the picture unless it is live. */
  showState(state) {
    const isOff = !this.view.enabled;
    this.element.dataset.state = isOff ? "off" : state;
    const isPlain = !isOff && state === "live";
    find(this.element, "veil").hidden = isPlain;
    find(this.element, "veil-state").textContent = isOff ? "Off" : stateName(state);
    find(this.element, "veil-reason").textContent = isOff || state !== this.camera.state ? "" : this.camera.reason ?? "";
    const label = `${spoken(this.camera.name, this.view.name)}, ${isOff ? "off" : stateName(state).toLowerCase()}`;
    this.button.setAttribute("aria-label", `Open ${label}`);
    this.screen.canvas.setAttribute("aria-label", label);
  }

  /** Shows a part of the stream. */
  show(part) {
    if (this.element.dataset.state !== part.state && this.view.enabled) this.showState(part.state);
    this.screen.show(part.blob);
  }
}

/** A camera or scene: its heading and its tiles. */
class CameraSection {
  constructor(camera, onShoot) {
    this.element = clone("camera-template");
    this.element.dataset.camera = camera.name;
    this.tiles = new Map();
    this.seen = null;
    this.shoot = find(this.element, "camera-shoot");
    this.shoot.addEventListener("click", () => onShoot(this.camera.name));
  }

  /** `level` is the level of its heading. */
  update(camera, canShoot, level, onOpen) {
    this.camera = camera;
    find(this.element, "camera-name").textContent = camera.name;
    find(this.element, "camera-name").ariaLevel = level;
    this.shoot.hidden = !canShoot;
    this.shoot.title = `Snapshot of ${camera.name}`;
    this.shoot.setAttribute("aria-label", this.shoot.title);
    this.showState();
    this.tiles = keep(this.tiles, camera.views, {
      make: (view) => new Tile(this, camera, view, onOpen),
      update: (tile, view) => tile.update(camera, view),
    });
    place(find(this.element, "tiles"), this.tiles.values());
    this.arrange();
  }

  /** The size of the source; null if neither the service nor a picture has shown it. */
  get source() { return [this.camera, this.camera.format].find((known) => known?.width) ?? this.seen; }

  /**
   * All rows have one height, so a picture's width follows from its shape, and a camera's from its pictures'.
   */
  arrange() {
    const tiles = [...this.tiles.values()];
    for (const tile of tiles) tile.element.style.setProperty("--shape", tile.shape);
    this.element.style.setProperty("--shape", tiles.reduce((sum, tile) => sum + tile.shape, 0));
    this.element.style.setProperty("--tiles", tiles.length);
  }

  showState() {
    const { state, since, reason, fps, kind, source } = this.camera;
    const isLive = state === "live";
    this.element.dataset.state = state;
    say(find(this.element, "camera-meta"), [
      kind === "scene" && "Scene",
      [stateName(state), forHowLong(since)].filter(Boolean).join(" "),
      !isLive && reason,
      isLive && format(this.camera),
      isLive && fps > 0 && rate(fps),
    ].filter(Boolean).join(" · "));
    find(this.element, "camera-meta").title = source ?? "";
  }
}

/**
 * A node: its heading and its cameras. While the user has closed it, its cameras are hidden and not streamed.
 */
class NodeGroup {
  constructor() {
    this.element = clone("node-template");
    this.list = find(this.element, "node-cameras");
  }

  update(node, isAlone) {
    this.node = node;
    find(this.element, "node-head").hidden = isAlone;
    if (isAlone) this.element.open = true;
    this.element.ariaLabel = isAlone ? null : `Node ${node.name}`;
    find(this.element, "node-name").textContent = node.name;
    this.showState();
  }

  showState() {
    const { state, since, reason, cameras, isOwn } = this.node;
    const scenes = cameras.filter(({ kind }) => kind === "scene").length;
    find(this.element, "node-head").dataset.state = state;
    say(find(this.element, "node-meta"), [
      isOwn ? "This node" : [nodeStateName(state), state !== "up" && forHowLong(since)].filter(Boolean).join(" "),
      count(cameras.length - scenes, "camera"),
      scenes > 0 && count(scenes, "scene"),
      reason,
    ].filter(Boolean).join(" · "));
    find(this.element, "node-meta").title = reason ?? "";
  }
}

/**
 * The nodes of an answer, each with its cameras: first the node that has answered, then its peers in order.
 */
function nodesOf({ cameras, node, peers = [] }) {
  const own = node?.name ?? "";
  const nodes = new Map([[own, { name: own, isOwn: true, state: "up", cameras: [] }]]);
  for (const peer of peers) {
    // A node may be known twice, by its address and by its lease.
    const isKnown = ["self", "duplicate"].includes(peer.state) || nodes.get(peer.name)?.state === "up";
    if (!isKnown) nodes.set(peer.name, { ...peer, cameras: [] });
  }
  for (const camera of cameras) (nodes.get(camera.node) ?? nodes.get(own)).cameras.push(camera);
  return [...nodes.values()];
}

/** All cameras of the service's last answer. */
export class Overview {
  #nodes = new Map();
  #sections = new Map();

  /** `onOpen(tile)`, `onShoot(camera)`, `onSeen()` when other tiles become visible. */
  constructor(element, { onOpen, onShoot, onSeen }) {
    this.element = element;
    this.onOpen = onOpen;
    this.onShoot = onShoot;
    this.sight = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const tile = this.tile(target.dataset.key);
        if (tile) tile.isSeen = isIntersecting;
      }
      onSeen();
    }, { rootMargin: "80px" });
  }

  get tiles() { return [...this.#sections.values()].flatMap((section) => [...section.tiles.values()]); }

  /** The tiles in groups that are not closed. */
  get open() { return this.tiles.filter((tile) => !tile.element.closest("details:not([open])")); }

  /** Whether there are several nodes. */
  get isGrouped() { return this.#nodes.size > 1; }

  tile(key) { return this.tiles.find((tile) => tile.key === key); }

  update(answer, canShoot) {
    const nodes = nodesOf(answer);
    const isAlone = nodes.length === 1;
    this.#nodes = keep(this.#nodes, nodes, {
      make: () => new NodeGroup(),
      update: (group, node) => group.update(node, isAlone),
    });
    this.#sections = keep(this.#sections, nodes.flatMap(({ cameras }) => cameras), {
      make: (camera) => new CameraSection(camera, this.onShoot),
      update: (section, camera) => section.update(camera, canShoot, isAlone ? 2 : 3, this.onOpen),
    });
    place(this.element, this.#nodes.values());
    for (const { name, cameras } of nodes) {
      place(this.#nodes.get(name).list, cameras.map((camera) => this.#sections.get(camera.name)));
    }
    this.element.dataset.tiles = Math.min(this.tiles.length, 3);
    for (const tile of this.tiles) this.sight.observe(tile.element);
  }

  /** Sets a camera's state from an event. */
  setState(name, { state, reason, since }) {
    const section = this.#sections.get(name);
    if (!section) return;
    Object.assign(section.camera, { state, reason, since });
    section.showState();
    for (const tile of section.tiles.values()) tile.showState(state);
  }

  /** Updates durations, which grow with time. */
  tick() {
    for (const shown of [...this.#nodes.values(), ...this.#sections.values()]) shown.showState();
  }
}

/** Updates the elements of a list: reuses those with the same names, and removes the rest. */
function keep(shown, values, { make, update }) {
  const next = new Map();
  for (const value of values) {
    const item = shown.get(value.name) ?? make(value);
    update(item, value);
    next.set(value.name, item);
  }
  for (const [name, item] of shown) {
    if (!next.has(name)) item.element.remove();
  }
  return next;
}

/** Puts elements into an order. */
function place(parent, items) {
  // An element in its place is not moved, because it would lose the focus.
  let next = parent.firstElementChild;
  for (const { element } of items) {
    if (element === next) next = next.nextElementSibling;
    else parent.insertBefore(element, next);
  }
}
