// One view, large: its picture, its settings, and its other URLs.
import { askJSON, viewPath } from "./api.js";
import { Marquee, cropOf, isWarped, sizeOf } from "./crop.js";
import { fieldOf } from "./lens.js";
import { Outlines } from "./outlines.js";
import { Screen } from "./stream.js";
import { Turning } from "./turn.js";
import { codec, forHowLong, format, rate, say, size, spoken, stateName } from "./words.js";

const byID = (id) => document.getElementById(id);

const FIELDS = [
  "crop", "rotate", "mirror", "mode", "background", "width", "height", "filter", "fps", "quality", "decode",
  "angle", "projection", "yaw", "pitch", "roll", "hfov", "lens", "corners",
];
const NUMBERS = ["rotate", "angle", "width", "height", "fps", "quality", "yaw", "pitch", "roll", "hfov"];
/** The fields that are 0 when they are empty. */
const ZEROS = ["angle", "yaw", "pitch", "roll"];

/** The dialog of a tile that was opened. */
export class Detail {
  #marquee;
  #changes = Promise.resolve();

  /**
   * `onChange()`: another view is shown, or none; `onView(camera, view)`: a view was changed;
   * `onShoot(camera)`. `moves` turn lens views.
   */
  constructor({ onChange, onView, onShoot, moves }) {
    this.element = byID("detail");
    this.form = byID("controls");
    this.screen = new Screen(byID("detail-canvas"), ({ width, height }) => {
      this.screen.canvas.style.setProperty("--shape", width / height);
    });
    this.tile = null;
    this.canControl = false;
    this.onChange = onChange;
    this.onView = onView;
    this.turning = new Turning(this.screen.canvas, moves);
    this.outlines = new Outlines(this.screen.canvas, moves);
    this.#marquee = new Marquee(this.screen.canvas, byID("marquee"), {
      keepsShape: () => this.tile.view.mode === "fill",
      onArm: (isArmed) => this.#showArmed(isArmed),
      onCrop: (seen) => this.#set({ crop: cropOf(seen, this.tile.view, this.tile.source) }),
    });
    byID("detail-close").addEventListener("click", () => this.close());
    byID("detail-full").addEventListener("click", () => this.toggleFullScreen());
    byID("detail-shoot").addEventListener("click", () => onShoot(this.tile.camera.name));
    byID("crop-whole").addEventListener("click", () => this.#set({ crop: null }));
    byID("crop-select").addEventListener("click", () => this.#marquee.arm(!this.#marquee.isArmed));
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("change", (event) => this.#changed(event.target));
    this.form.addEventListener("input", (event) => this.#sliding(event.target));
  }

  get isOpen() { return this.tile !== null; }

  /** Shows a tile's view, with the tile's picture until the first one comes. */
  open(tile) {
    this.tile = tile;
    this.#marquee.arm(false);
    this.screen.clear();
    this.screen.copy(tile.screen.canvas);
    this.#complain(null);
    this.update();
    if (!this.element.open) this.element.show();
    for (const part of document.querySelectorAll("body > .bar, body > main")) part.inert = true;
    document.documentElement.classList.add("has-detail");
    this.onChange();
  }

  close() {
    if (!this.isOpen) return;
    if (document.fullscreenElement) document.exitFullscreen();
    this.#marquee.arm(false);
    const { button } = this.tile;
    this.tile = null;
    this.#showLens();
    for (const part of document.querySelectorAll("body > .bar, body > main")) part.inert = false;
    document.documentElement.classList.remove("has-detail");
    this.element.close();
    button.focus();
    this.onChange();
  }

  /** Handles Escape: cancels a selection, or else closes the view. */
  escape() {
    if (this.#marquee.isArmed) this.#marquee.arm(false);
    else this.close();
  }

  toggleFullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else byID("stage").requestFullscreen().catch(() => {});
  }

  /** Updates everything that is shown about the view. */
  update() {
    if (!this.isOpen) return;
    const { camera, view } = this.tile;
    byID("detail-title").textContent = camera.name;
    byID("detail-title").append(Object.assign(document.createElement("span"), { textContent: view.name }));
    this.screen.canvas.setAttribute("aria-label", spoken(camera.name, view.name));
    this.showState(this.tile.element.dataset.state);
    this.#showFacts(camera, view);
    this.#showControls(camera, view);
    this.#showLinks(view);
    this.#showLens();
  }

  #showLens() {
    this.turning.show(this.tile, this.canControl);
    this.outlines.show(this.tile, this.canControl);
  }

  /** Shows where lens views look, after one was moved. */
  showMoves() {
    this.turning.showPose();
    this.outlines.draw();
  }

  /** Shows a part of the stream. */
  show(part) {
    this.showState(part.state);
    this.screen.show(part.blob);
  }

  showState(state) {
    const { camera } = this.tile;
    this.element.dataset.state = state;
    const name = state === "off" ? "Off" : stateName(state);
    const why = state === camera.state ? [forHowLong(camera.since), camera.reason && `· ${camera.reason}`] : [];
    say(byID("detail-state"), [name, ...why].filter(Boolean).join(" "));
    // The hint explains how to draw a crop or a motion zone.
    if (this.screen.canvas.classList.contains("can-crop")) return;
    const shown = this.screen.rate;
    say(byID("stage-hint"), state === "live" && shown > 0 ? `${rate(shown)} · ${codec()}` : "");
  }

  #showArmed(isArmed) {
    byID("crop-select").setAttribute("aria-pressed", isArmed);
    say(byID("crop-select"), isArmed ? "Cancel" : "Select");
    say(byID("stage-hint"), isArmed ? "Drag to select the crop" : "");
  }

  #showFacts(camera, view) {
    const known = sizeOf(view, this.tile.source);
    const facts = {
      Node: camera.node,
      Source: camera.source,
      Format: format(camera),
      Measured: camera.fps > 0 ? rate(camera.fps) : null,
      Buffered: camera.replay?.pictures && `${Math.round(camera.replay.seconds)} s, ${camera.replay.pictures} pictures`,
      View: known && size(known),
      Rendered: view.fps > 0 ? rate(view.fps) : null,
      Watchers: view.clients,
    };
    byID("facts").replaceChildren(...Object.entries(facts).flatMap(([name, value]) => {
      if (value === null || value === undefined || value === "") return [];
      return [
        Object.assign(document.createElement("dt"), { textContent: name }),
        Object.assign(document.createElement("dd"), { textContent: value, title: name === "Source" ? value : "" }),
      ];
    }));
  }

  #showControls(camera, view) {
    const fields = this.form.elements;
    byID("controls-set").disabled = !this.canControl || view.locked;
    const note = byID("controls-note");
    note.hidden = this.canControl && !view.locked;
    note.textContent = this.canControl
      ? "Locked: only the configuration can change it." : "Read-only: your role does not permit changes.";
    for (const row of this.form.querySelectorAll("[data-geometry]")) row.hidden = camera.kind === "scene";
    byID("background-row").hidden ||= view.mode !== "fit" && !isWarped(view);
    byID("projection-row").hidden = !view.projection && !view.lens && !camera.lens;
    for (const row of this.form.querySelectorAll("[data-pose]")) row.hidden = !view.projection;
    const known = sizeOf(view, this.tile.source);
    const isBlurred = view.background === "blur";
    const values = { ...view, fps: view.fps_limit, background: isBlurred ? "#000000" : view.background };
    const isQuarter = view.rotate % 90 === 0;
    // The rotation in degrees, the shorter way round.
    const degrees = view.rotate > 180 ? Number((view.rotate - 360).toFixed(6)) : view.rotate;
    values.angle = isQuarter ? "" : degrees;
    if (!isQuarter) for (const choice of fields.rotate) choice.checked = false;
    for (const name of FIELDS) {
      // A field keeps its text while the user types in it, and after a refusal until the user corrects it.
      const isHis = document.activeElement === fields[name] || fields[name].ariaInvalid === "true";
      if (!isHis) fields[name].value = String(values[name] ?? "");
    }
    fields.enabled.checked = view.enabled;
    fields.blur.checked = isBlurred;
    fields.background.hidden = isBlurred;
    fields.width.placeholder = known?.width ?? "";
    fields.height.placeholder = known?.height ?? "";
    fields.hfov.placeholder = view.projection ? Math.round(fieldOf({}, view, camera, this.tile.source)) : "";
    fields.lens.placeholder = camera.lens ?? "";
    byID("quality-value").textContent = fields.quality.value;
    byID("crop-whole").hidden = !view.crop;
    byID("crop-select").hidden = this.tile.source === null || isWarped(view);
    if (isWarped(view) && this.#marquee.isArmed) this.#marquee.arm(false);
  }

  #showLinks(view) {
    byID("links").replaceChildren(...Object.entries(view.urls).map(([kind, path]) => {
      const item = byID("link-template").content.firstElementChild.cloneNode(true);
      const [link, button] = item.children;
      link.href = path.replace(/^\//, "");
      const name = kind === "stream" ? "MJPEG" : kind.toUpperCase();
      link.append(Object.assign(document.createElement("b"), { textContent: name }), path);
      button.title = `Copy the URL of the ${name}`;
      button.setAttribute("aria-label", button.title);
      button.addEventListener("click", () => copy(link.href, button));
      return item;
    }));
  }

  #changed(field) {
    const [name, text] = [field.name, field.value.trim()];
    let value = NUMBERS.includes(name) ? Number(text) : text;
    if (name === "enabled") value = field.checked;
    // Empty: the whole source, every frame, or the size that follows from the other settings.
    if (text === "") value = ZEROS.includes(name) ? 0 : null;
    if (name === "blur") this.#set({ background: field.checked ? "blur" : "#000000" });
    else this.#set({ [name === "angle" ? "rotate" : name]: value });
  }

  /** A slider shows its number at once. The service gets it when the slider is released. */
  #sliding(field) {
    if (field.name !== "quality") return;
    byID("quality-value").textContent = field.value;
  }

  /** Sends changes one after the other, so that the last one wins. */
  #set(change) {
    const { camera, view, key } = this.tile;
    this.#changes = this.#changes.then(async () => {
      try {
        const changed = await askJSON(viewPath(camera.name, view.name), { method: "PATCH", body: change });
        this.onView(camera.name, changed);
        if (this.tile?.key === key) this.#complain(null);
      } catch (error) {
        if (this.tile?.key === key) this.#complain(error);
      }
    });
  }

  #complain(error) {
    const problem = byID("problem");
    problem.hidden = error === null;
    problem.textContent = error?.message ?? "";
    for (const field of this.form.elements) {
      const name = field.name === "angle" ? "rotate" : field.name;
      const isWrong = error?.parameter !== undefined && error?.parameter !== null && name === error.parameter;
      if (isWrong) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
    if (error && error.parameter === null) this.update();
  }
}

/** Copies to the clipboard. Pages without TLS have only the old API. */
export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = Object.assign(document.createElement("textarea"), { value: text });
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    button.focus();
    if (!done) return;
  }
  button.classList.add("is-done");
  setTimeout(() => button.classList.remove("is-done"), 1200);
}
