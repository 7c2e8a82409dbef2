// Motion at the camera of the open view: its events with their pictures, and its settings, which can be
// changed live.
import { askJSON, motionPath } from "./api.js";
import { Marquee, cover, mapOf } from "./crop.js";
import { copy } from "./detail.js";
import { say, timeOfDay } from "./words.js";

const byID = (id) => document.getElementById(id);
const KEYS = { sensitivity: "sensitivity", "min-size": "min_size", "min-duration": "min_duration", "cool-down": "cool_down" };
const LISTED = 30;
const LOOKS_EVERY = 400;
const SVG = "http://www.w3.org/2000/svg";

/** The part of the open view that shows motion. */
export class Motion {
  #tile = null;
  #timer = 0;
  /** The last answer of the service. */
  #known = null;
  #changes = Promise.resolve();
  /** Corners of the polygon that is being drawn, in fractions of the source; null if there is none. */
  #corners = null;
  /** The slider that is being dragged, until its change is answered. */
  #held = null;

  /** `onProblem(text)`, and `onEvent(event)` when the user opens an event. */
  constructor({ onProblem, onEvent }) {
    Object.assign(this, { onProblem, onEvent });
    this.form = byID("motion-form");
    this.canvas = byID("detail-canvas");
    this.marquee = new Marquee(this.canvas, byID("marquee"), {
      keepsShape: () => false,
      onArm: (isArmed) => this.#arm("rectangle", isArmed),
      onCrop: ({ x, y, width, height }) => this.#draw([[x, y], [x + width, y + height]]),
    });
    byID("motion-tune").addEventListener("toggle", () => this.#look());
    byID("motion-rectangle").addEventListener("click", () => {
      const isArmed = this.marquee.isArmed;
      this.#disarm();
      this.marquee.arm(!isArmed);
    });
    byID("motion-polygon").addEventListener("click", () => (this.#corners ? this.#finish() : this.#begin()));
    byID("motion-usual").addEventListener("click", () =>
      this.#set(Object.fromEntries([...Object.keys(KEYS), "zones"].map((key) => [key, null]))));
    byID("motion-copy").addEventListener("click", (event) => copy(byID("motion-yaml").textContent, event.currentTarget));
    this.canvas.addEventListener("click", (event) => this.#corner(event));
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", ({ target }) => {
      if (target.type !== "range") return;
      this.#held = target;
      say(byID("motion-sensitivity"), target.value);
    });
    this.form.addEventListener("focusout", () => (this.#held = null));
    this.form.addEventListener("change", (event) => this.#changed(event.target));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.#corners?.length > 2) this.#finish();
    });
    new ResizeObserver(() => this.#place()).observe(this.canvas);
  }

  /** Shows a tile's camera; `events` are its latest, oldest first. */
  show(tile, canControl, events) {
    if (tile?.key !== this.#tile?.key) {
      this.#known = this.#held = null;
      this.#disarm();
      byID("motion-tune").open = false;
    }
    this.#tile = tile;
    const motion = tile?.camera.motion;
    byID("motion").hidden = !motion;
    // Cells show the whole camera, so the service sends them only if a view may show all of it.
    const showsAll = tile?.camera.views.some((view) => view.enabled && !view.locked);
    byID("motion-tune").hidden = !motion?.watched || !canControl || !showsAll;
    // Zones are drawn on pictures whose places are known in the source's.
    const canDraw = Boolean(this.#map());
    if (!canDraw) this.#disarm();
    for (const shape of ["rectangle", "polygon"]) byID(`motion-${shape}`).hidden = !canDraw;
    this.#list(motion ? events : []);
    this.#look();
  }

  #list(events) {
    const latest = events.slice(-LISTED).reverse();
    say(byID("motion-none"), latest.length === 0 ? "No motion yet." : "");
    const key = JSON.stringify(latest);
    if (byID("motion-list").dataset.key === key) return;
    byID("motion-list").dataset.key = key;
    byID("motion-list").replaceChildren(...latest.map((event) => {
      const item = byID("motion-template").content.firstElementChild.cloneNode(true);
      const [button, image, text] = [item.firstElementChild, item.querySelector("img"), item.querySelector("span")];
      const seconds = Math.max(0, Math.round((Date.parse(event.last) - Date.parse(event.since)) / 1000));
      const about = [event.label, ...event.zones, `${seconds} s`].filter(Boolean).join(" · ");
      text.append(Object.assign(document.createElement("b"), { textContent: timeOfDay(event.since) }), about);
      image.hidden = !event.picture;
      if (event.picture) image.src = `${event.picture.slice(1)}?box=1#${Date.parse(event.best ?? event.since)}`;
      button.setAttribute("aria-label", `Motion at ${timeOfDay(event.since)}, ${about}`);
      button.addEventListener("click", () => this.onEvent(event));
      return item;
    }));
  }

  // ---- Tuning

  /** Requests the cells repeatedly while they are visible. */
  async #look() {
    clearTimeout(this.#timer);
    const isOpen = byID("motion-tune").open && !byID("motion-tune").hidden && this.#tile !== null;
    byID("motion-heat").hidden = !isOpen;
    byID("motion-zones").style.display = isOpen ? "" : "none";
    if (!isOpen) return this.#disarm();
    const tile = this.#tile;
    try {
      if (!document.hidden) await this.#changes.then(async () => this.#take(tile, await askJSON(motionPath(tile.camera.name))));
    } catch (error) {
      say(byID("motion-problem"), error.message);
      byID("motion-problem").hidden = false;
    }
    if (tile === this.#tile) this.#timer = setTimeout(() => this.#look(), LOOKS_EVERY);
  }

  #take(tile, known) {
    if (tile.key !== this.#tile?.key) return;
    if (known.sensitivity === undefined) {
      byID("motion-tune").open = false;
      byID("motion-tune").hidden = true;
      return;
    }
    const isOther = JSON.stringify(known.zones_watched) !== JSON.stringify(this.#known?.zones_watched);
    this.#known = known;
    for (const [key, member] of Object.entries(KEYS)) {
      const field = this.#field(key);
      const isBusy = field.type === "range" ? this.#held === field : document.activeElement === field;
      if (!isBusy) field.value = known[member];
    }
    say(byID("motion-sensitivity"), this.#field("sensitivity").value);
    byID("motion-usual").hidden = known.is_configured;
    if (isOther) this.#listZones();
    say(byID("motion-yaml"), yaml(tile.camera.name, known));
    this.#place();
    this.#heat();
    this.#outline();
  }

  /** The field of a setting. Fields of zones have the same names. */
  #field(key) { return this.form.querySelector(`.row [name="${key}"]`); }

  get #zones() { return (this.#known?.zones_watched ?? []).map(zone); }

  #listZones() {
    byID("motion-zone-list").replaceChildren(...this.#zones.map((zone, index) => {
      const item = byID("zone-template").content.firstElementChild.cloneNode(true);
      for (const field of item.querySelectorAll("input")) {
        const key = field.name;
        field.value = zone[key] ?? "";
        field.setAttribute("aria-label", `${field.title} of zone ${zone.name}`);
        field.addEventListener("change", (event) => {
          event.stopPropagation();
          const zones = this.#zones;
          zones[index] = { ...zones[index], [key]: field.value.trim() };
          this.#setZones(zones);
        });
      }
      const button = item.querySelector("button");
      button.setAttribute("aria-label", `Remove zone ${zone.name}`);
      button.addEventListener("click", () => this.#setZones(this.#zones.filter((_, other) => other !== index)));
      return item;
    }));
  }

  #setZones(zones) { this.#set({ zones: zones.map(word) }); }

  #changed(field) {
    if (KEYS[field.name]) this.#set({ [field.name]: field.value === "" ? null : field.value });
  }

  #set(change) {
    const tile = this.#tile;
    this.#changes = this.#changes.then(async () => {
      try {
        const known = await askJSON(motionPath(tile.camera.name), { method: "PATCH", body: change });
        this.#held = null;
        this.#take(tile, known);
        byID("motion-problem").hidden = true;
      } catch (error) {
        this.#held = null;
        say(byID("motion-problem"), error.message);
        byID("motion-problem").hidden = false;
        this.#listZones();
      }
    });
  }

  // ---- On the picture

  #map() { return this.#tile && mapOf(this.#tile.view, this.#tile.source); }

  #place() { cover(this.canvas, [byID("motion-heat"), byID("motion-zones")]); }

  #heat() {
    const [heat, map] = [byID("motion-heat"), this.#map()];
    const { cells = [], columns, rows } = this.#known;
    const context = heat.getContext("2d");
    const picture = context.createImageData(heat.width, heat.height);
    for (let at = 0; map && cells.length > 0 && at < heat.width * heat.height; at += 1) {
      const [u, v] = map.toSource((at % heat.width + 0.5) / heat.width, (Math.floor(at / heat.width) + 0.5) / heat.height);
      if (u < 0 || v < 0 || u >= 1 || v >= 1) continue;
      const much = cells[Math.floor(v * rows) * columns + Math.floor(u * columns)] / 100;
      // A cell that counts as moving is red, less than that yellow.
      picture.data.set([255, much >= 1 ? 60 : 200, 60, much < 0.3 ? 0 : Math.min(170, 60 + 60 * much)], at * 4);
    }
    context.putImageData(picture, 0, 0);
  }

  #outline() {
    const map = this.#map();
    const shown = this.#tile?.view.name;
    const line = (corners, name, isPlaced = false) => {
      const shape = document.createElementNS(SVG, "polygon");
      const points = isPlaced ? corners : corners.map(([x, y]) => map.toPicture(x, y));
      shape.setAttribute("points", points.map((point) => point.join(",")).join(" "));
      shape.append(Object.assign(document.createElementNS(SVG, "title"), { textContent: name }));
      return shape;
    };
    // A zone with a view has fractions of that view's picture as it is configured.
    const hasPlaces = this.#known?.views_as_configured?.includes(shown);
    const zones = this.#zones.filter(({ view }) => (view ? view === shown && hasPlaces : map))
      .map((zone) => line(corners(zone.place), zone.name, Boolean(zone.view)));
    if (map && this.#corners?.length > 0) zones.push(line(this.#corners, "being drawn"));
    byID("motion-zones").replaceChildren(...zones);
  }

  #arm(shape, isArmed) {
    const button = byID(`motion-${shape}`);
    button.setAttribute("aria-pressed", isArmed);
    byID("motion-polygon").textContent = this.#corners ? "Finish" : "Draw a polygon";
    const how = shape === "rectangle" ? "Drag over where motion counts" : "Click at each corner, then Finish";
    say(byID("stage-hint"), isArmed ? how : "");
    this.canvas.classList.toggle("can-crop", isArmed);
  }

  /** Ends drawing. */
  #disarm() {
    if (this.marquee.isArmed) this.marquee.arm(false);
    if (!this.#corners) return;
    this.#corners = null;
    this.#arm("polygon", false);
    this.#outline();
  }

  #begin() {
    this.#disarm();
    this.#corners = [];
    this.#arm("polygon", true);
  }

  #corner(event) {
    const map = this.#map();
    if (!this.#corners || !map) return;
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    this.#corners.push(map.toSource(x, y).map(fraction));
    this.#outline();
  }

  #finish() {
    const corners = this.#corners;
    this.#corners = null;
    this.#arm("polygon", false);
    if (corners.length > 2) this.#add(corners.map((corner) => corner.join(",")).join(" "));
    else this.#outline();
  }

  /** If the view is rotated, a rectangle of the picture becomes another one of the source. */
  #draw(seen) {
    const map = this.#map();
    if (!map) return;
    const [[ax, ay], [bx, by]] = seen.map(([x, y]) => map.toSource(x, y).map(fraction));
    const [x, y] = [Math.min(ax, bx), Math.min(ay, by)];
    this.#add([x, y, Math.abs(ax - bx), Math.abs(ay - by)].map((side) => fraction(side)).join(","));
  }

  #add(place) {
    const names = new Set(this.#zones.map(({ name }) => name));
    let number = names.size + 1;
    while (names.has(`zone${number}`)) number += 1;
    this.#setZones([...this.#zones, { name: `zone${number}`, place }]);
  }
}

/** Rounds to a thousandth within 0...1. */
const fraction = (value) => Math.round(Math.min(Math.max(value, 0), 1) * 1000) / 1000;

/** Parses a zone, `NAME=PLACE:sensitivity=N:min-size=N`. */
function zone(text) {
  const [name, ...rest] = text.split("=");
  const [place, ...words] = rest.join("=").split(":");
  return { name, place, ...Object.fromEntries(words.map((part) => part.split("="))) };
}

/** Formats a zone. */
const word = ({ name, place, ...words }) =>
  [`${name}=${place}`, ...Object.entries(words).filter(([, value]) => value !== "").map((part) => part.join("="))].join(":");

/** The corners of a place, which is a rectangle or a polygon. */
function corners(place) {
  const points = place.split(" ").map((point) => point.split(",").map(Number));
  if (points.length > 1) return points;
  const [x, y, width, height] = points[0];
  return [[x, y], [x + width, y], [x + width, y + height], [x, y + height]];
}

/** The configuration that makes the changes permanent. */
function yaml(camera, known) {
  const zones = (known.zones_watched ?? []).map((text) => {
    const [name, ...rest] = text.split("=");
    return `\n        ${name}: "${rest.join("=")}"`;
  });
  return `cameras:\n  ${camera}:\n    motion:\n      sensitivity: ${known.sensitivity}\n      min-size: ${known.min_size}\n`
    + `      min-duration: ${known.min_duration}s\n      cool-down: ${known.cool_down}s\n      rate: ${known.rate}`
    + (zones.length > 0 ? `\n      zones:${zones.join("")}` : "");
}
