// A view's geometry: its size, and the mapping from its picture back to its source. A rectangle dragged on
// the picture becomes the crop that shows it.

/** `WxH+X+Y` as numbers; null for any other text. */
export function parseCrop(text) {
  const match = /^(\d+)x(\d+)\+(\d+)\+(\d+)$/.exec(text ?? "");
  if (!match) return null;
  const [width, height, x, y] = match.slice(1).map(Number);
  return { x, y, width, height };
}

/** The part of the source that a view shows; null if the source's size is unknown. */
function seenPart(view, source) {
  const whole = source?.width && source?.height ? { x: 0, y: 0, width: source.width, height: source.height } : null;
  return parseCrop(view.crop) ?? whole;
}

/** Whether a view is rotated by 90 or 270 degrees. */
export const isTurned = (view) => view.rotate === 90 || view.rotate === 270;

/**
 * Whether a view shows its source through a lens, from four corners, or rotated freely. No rectangle of its
 * picture is then one of its source.
 */
export const isWarped = (view) => Boolean(view.projection || view.corners) || (view.rotate ?? 0) % 90 !== 0;

/**
 * A view's size, computed as the service does: a missing side follows from the rotated crop. Null if unknown, as
 * for warped views without both sides.
 */
export function sizeOf(view, source) {
  if (view.width && view.height) return { width: view.width, height: view.height };
  if (isWarped(view)) return null;
  const crop = seenPart(view, source);
  if (!crop) return null;
  const [width, height] = isTurned(view) ? [crop.height, crop.width] : [crop.width, crop.height];
  if (view.width) return { width: view.width, height: Math.max(1, Math.round(height * view.width / width)) };
  if (view.height) return { width: Math.max(1, Math.round(width * view.height / height)), height: view.height };
  return { width, height };
}

/** The crop that shows the rectangle `seen` of a view's picture (in fractions, 0...1). */
export function cropOf(seen, view, source) {
  const corners = [[seen.x, seen.y], [seen.x + seen.width, seen.y + seen.height]]
    .map(([x, y]) => sourcePoint(x, y, view, seenPart(view, source), sizeOf(view, source)));
  const left = Math.round(Math.min(corners[0].x, corners[1].x));
  const top = Math.round(Math.min(corners[0].y, corners[1].y));
  const right = Math.max(left + 1, Math.round(Math.max(corners[0].x, corners[1].x)));
  const bottom = Math.max(top + 1, Math.round(Math.max(corners[0].y, corners[1].y)));
  return `${right - left}x${bottom - top}+${left}+${top}`;
}

/** Reverses placing, mirroring, rotation and cropping, in this order. */
function sourcePoint(x, y, view, crop, size, isInside = true) {
  const [width, height] = isTurned(view) ? [crop.height, crop.width] : [crop.width, crop.height];
  let [scaleX, scaleY] = [size.width / width, size.height / height];
  if (view.mode === "fill") scaleX = scaleY = Math.max(scaleX, scaleY);
  if (view.mode === "fit") scaleX = scaleY = Math.min(scaleX, scaleY);
  let px = (x - 0.5) * size.width / scaleX + width / 2;
  let py = (y - 0.5) * size.height / scaleY + height / 2;
  if (isInside) [px, py] = [clamp(px, 0, width), clamp(py, 0, height)];
  const [u, v] = upright(px / width, py / height, view);
  return { x: crop.x + u * crop.width, y: crop.y + v * crop.height };
}

/** Reverses mirroring and a rotation by quarter turns, in fractions of the picture. */
export function upright(x, y, { mirror, rotate }) {
  const px = mirror === "horizontal" || mirror === "both" ? 1 - x : x;
  const py = mirror === "vertical" || mirror === "both" ? 1 - y : y;
  return { 0: [px, py], 90: [py, 1 - px], 180: [1 - px, 1 - py], 270: [1 - py, px] }[rotate] ?? [px, py];
}

const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

/**
 * Maps fractions of a view's picture to fractions of its whole upright source, and back; null if a size is
 * unknown, and for warped views.
 */
export function mapOf(view, source) {
  if (isWarped(view)) return null;
  const [crop, size] = [seenPart(view, source), sizeOf(view, source)];
  if (!crop || !size || !source) return null;
  const at = (x, y) => {
    const point = sourcePoint(x, y, view, crop, size, false);
    return [point.x / source.width, point.y / source.height];
  };
  // The mapping is affine: three points determine it.
  const [[x, y], [ax, ay], [bx, by]] = [at(0, 0), at(1, 0), at(0, 1)];
  const [a, b, c, d] = [ax - x, ay - y, bx - x, by - y];
  const whole = a * d - b * c;
  return {
    toSource: at,
    toPicture: (u, v) => [((u - x) * d - (v - y) * c) / whole, ((v - y) * a - (u - x) * b) / whole],
  };
}

/** Places layers over a canvas, whatever its size. */
export function cover(canvas, layers) {
  const { offsetLeft: left, offsetTop: top, offsetWidth: width, offsetHeight: height } = canvas;
  for (const layer of layers) {
    Object.assign(layer.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
  }
}

/** Lets the user drag a rectangle on a canvas while it is armed, then calls `onCrop(seen)`. */
export class Marquee {
  #start = null;

  /** `keepsShape()` returns whether rectangles have the picture's shape; `onArm(isArmed)` reports changes. */
  constructor(canvas, frame, { keepsShape, onArm, onCrop }) {
    this.canvas = canvas;
    this.frame = frame;
    this.onArm = onArm;
    this.isArmed = false;
    this.keepsShape = keepsShape;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.isArmed) return;
      canvas.setPointerCapture(event.pointerId);
      this.#start = this.#point(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (this.#start) this.#draw(this.#rectangle(event));
    });
    canvas.addEventListener("pointerup", (event) => {
      if (!this.#start) return;
      const seen = this.#rectangle(event);
      this.arm(false);
      const box = canvas.getBoundingClientRect();
      // A smaller rectangle is a click.
      if (seen.width * box.width > 12 && seen.height * box.height > 12) onCrop(seen);
    });
    canvas.addEventListener("pointercancel", () => this.arm(false));
  }

  /** A picture is touched for many reasons, so drawing must be requested, once for each rectangle. */
  arm(isArmed) {
    this.#start = null;
    this.frame.hidden = true;
    this.isArmed = isArmed;
    this.canvas.classList.toggle("can-crop", isArmed);
    this.onArm(isArmed);
  }

  #point(event) {
    const box = this.canvas.getBoundingClientRect();
    return {
      x: clamp((event.clientX - box.left) / box.width, 0, 1),
      y: clamp((event.clientY - box.top) / box.height, 0, 1),
    };
  }

  #rectangle(event) {
    const [start, end] = [this.#start, this.#point(event)];
    let [width, height] = [Math.abs(end.x - start.x), Math.abs(end.y - start.y)];
    // In fractions of the picture, its own shape is a square. Shift allows any shape.
    if (this.keepsShape() && !event.shiftKey) width = height = Math.min(width, height);
    return {
      x: end.x < start.x ? start.x - width : start.x,
      y: end.y < start.y ? start.y - height : start.y,
      width, height,
    };
  }

  #draw({ x, y, width, height }) {
    const { canvas, frame } = this;
    frame.style.left = `${canvas.offsetLeft + x * canvas.offsetWidth}px`;
    frame.style.top = `${canvas.offsetTop + y * canvas.offsetHeight}px`;
    frame.style.width = `${width * canvas.offsetWidth}px`;
    frame.style.height = `${height * canvas.offsetHeight}px`;
    frame.hidden = false;
  }
}
