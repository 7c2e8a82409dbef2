// What a lens view shows: from positions of its picture to directions of the scene, and from those to positions
// in an ideal fisheye's picture. Directions are [right, down, forward], as the lens has them; angles are degrees.
import { serverNow } from "./api.js";
import { isTurned, upright } from "./crop.js";

const DEGREE = Math.PI / 180;

/** The shortest way round, -180 to below 180. */
const wrap = (angle) => ((angle + 180) % 360 + 360) % 360 - 180;

const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

const unit = (ray) => ray.map((part) => part / Math.hypot(...ray));

// ---- Poses

/** The pose that a view has, or moves to. Its `hfov` may be missing: see `fieldOf`. */
export const goalOf = ({ yaw = 0, pitch = 0, roll = 0, hfov }) => ({ yaw, pitch, roll, hfov });

/** The pose of a view now, while it may be moving. */
export function poseOf(view) {
  const { move } = view;
  if (!move) return goalOf(view);
  const [start, end] = [Date.parse(move.start), Date.parse(move.end)];
  return between(move.from, goalOf(view), end > start ? (serverNow() - start) / (end - start) : 1);
}

/** Whether a view is moving. */
export const isMoving = ({ move }) => Boolean(move) && serverNow() < Date.parse(move.end);

/** The pose at a part of the way (0...1) between two: yaw and roll take the shorter way round. */
export function between(from, to, part) {
  if (!(part < 1)) return to;
  const rest = clamp(part, 0, 1);
  const round = (key) => from[key] + wrap(to[key] - from[key]) * rest;
  const straight = (key) => from[key] + (to[key] - from[key]) * rest;
  const hasFields = Number.isFinite(from.hfov) && Number.isFinite(to.hfov);
  const hfov = hasFields ? straight("hfov") : to.hfov;
  return { yaw: round("yaw"), pitch: straight("pitch"), roll: round("roll"), hfov };
}

/** A pose in thousandths of a degree, with yaw and roll the shortest way round. */
export function rounded({ yaw, pitch, roll, hfov }) {
  const short = (angle) => Math.round(angle * 1000) / 1000;
  const field = Number.isFinite(hfov) ? short(hfov) : undefined;
  return { yaw: short(wrap(yaw)), pitch: short(pitch), roll: short(wrap(roll)), hfov: field };
}

/** The horizontal field of view of a pose: where it has none, the lens's, as the service takes it. */
export function fieldOf(pose, view, camera, source) {
  if (Number.isFinite(pose.hfov)) return pose.hfov;
  if (view.projection !== "flat") return 180;
  const { model, matrix, fov, size } = wordsOf(view.lens ?? camera.lens ?? "");
  if (model !== "pinhole" && model !== "ptlens") return 90;
  const width = size?.split("x")[0] ?? source?.width;
  if (matrix && width) return 2 * Math.atan(width / 2 / matrix.split(",")[0]) / DEGREE;
  return Number(fov ?? 60);
}

/** Limits a field of view to what the picture's controls offer. */
export const limitedField = (field, view) => clamp(field, 5, view.projection === "flat" ? 150 : 360);

// ---- Directions

/**
 * The direction that a view's picture shows at fractions of its width and height, before the view is turned.
 * `shape` is the picture's width divided by its height.
 */
export function rayOf(x, y, view, field, shape) {
  const [u, v] = upright(x, y, view);
  const half = field * DEGREE / 2;
  const length = 0.5 / (view.projection === "flat" ? Math.tan(half) : half);
  const across = (u - 0.5) / length;
  const down = (v - 0.5) / (isTurned(view) ? 1 / shape : shape) / length;
  if (view.projection === "flat") return [across, down, 1];
  if (view.projection === "cylinder") return [Math.sin(across), down, Math.cos(across)];
  return [Math.cos(down) * Math.sin(across), Math.sin(down), Math.cos(down) * Math.cos(across)];
}

/** The direction of the scene that a view of this pose sees along a ray: rolled, then pitched, then yawed. */
export function seen(ray, { yaw, pitch, roll }) {
  const [sy, cy] = [Math.sin(yaw * DEGREE), Math.cos(yaw * DEGREE)];
  const [sp, cp] = [Math.sin(pitch * DEGREE), Math.cos(pitch * DEGREE)];
  const [x, y, z] = rolled(ray, roll);
  return unit([cy * x + sy * (sp * y + cp * z), cp * y - sp * z, cy * (sp * y + cp * z) - sy * x]);
}

function rolled([x, y, z], roll) {
  const [sr, cr] = [Math.sin(roll * DEGREE), Math.cos(roll * DEGREE)];
  return [cr * x - sr * y, sr * x + cr * y, z];
}

/** The pose that has a direction of the scene in the middle of the picture. */
export const facing = (direction, pose) => turned([0, 0, 1], direction, pose);

/**
 * The pose that sees a direction of the scene along a ray: the nearest one with the same roll and field of view.
 * Near the poles there may be none; then the direction is as close to the ray as possible.
 */
export function turned(ray, direction, pose) {
  const [x, y, z] = unit(rolled(ray, pose.roll));
  const height = Math.hypot(y, z);
  if (height < 1e-9) return pose;
  const [angle, from] = [Math.acos(clamp(direction[1] / height, -1, 1)) / DEGREE, Math.atan2(z, y) / DEGREE];
  const ways = [angle - from, -angle - from].map((pitch) => pose.pitch + wrap(pitch - pose.pitch));
  const nearest = ways.reduce((a, b) => (Math.abs(b - pose.pitch) < Math.abs(a - pose.pitch) ? b : a));
  // The picture does not turn over, unless it was over.
  const pitch = clamp(nearest, Math.min(-90, pose.pitch), Math.max(90, pose.pitch));
  const forward = Math.sin(pitch * DEGREE) * y + Math.cos(pitch * DEGREE) * z;
  const yaw = (Math.atan2(direction[0], direction[2]) - Math.atan2(x, forward)) / DEGREE;
  return { ...pose, yaw, pitch };
}

// ---- Ideal fisheyes

/** The radius of an angle in focal lengths, the angle of a radius, and the largest angle, in radians. */
const CURVES = {
  equidistant: { radius: (angle) => angle, angle: (radius) => radius, end: Math.PI },
  equisolid: {
    radius: (angle) => 2 * Math.sin(angle / 2), angle: (radius) => 2 * Math.asin(Math.min(radius / 2, 1)), end: Math.PI,
  },
  stereographic: {
    radius: (angle) => 2 * Math.tan(angle / 2), angle: (radius) => 2 * Math.atan(radius / 2), end: 3.1,
  },
  orthographic: { radius: Math.sin, angle: (radius) => Math.asin(Math.min(radius, 1)), end: Math.PI / 2 },
};

/** The words of a lens's text: its model, and the values of its keys. */
function wordsOf(text) {
  const [model, ...words] = text.split(" ");
  // The numbers of ptlens have no key.
  if (model === "ptlens") words.shift();
  const values = { model };
  for (let at = 0; at + 1 < words.length; at += 2) values[words[at]] = words[at + 1];
  return values;
}

/**
 * Maps directions of the scene to fractions of the source's picture and back, for an ideal fisheye. Null for all
 * other lenses, and while the size is unknown.
 */
export function idealFisheye(text, source) {
  const words = wordsOf(text ?? "");
  const { model, matrix, distortion, curve = "equidistant", fov = 180, center, radius, size } = words;
  const [width, height] = size?.split("x").map(Number) ?? [source?.width, source?.height];
  const shape = CURVES[curve];
  if (model !== "fisheye" || matrix || distortion || !shape || !width || !height) return null;
  const [x, y] = center?.split(",").map(Number) ?? [width / 2, height / 2];
  const widest = fov * DEGREE / 2;
  const length = Number(radius ?? Math.min(width, height) / 2) / shape.radius(Math.min(widest, shape.end));
  return {
    toSource(direction) {
      const [across, away] = [Math.hypot(direction[0], direction[1]), direction[2]];
      const far = shape.radius(Math.min(Math.atan2(across, away), shape.end)) * length;
      const [dx, dy] = across > 0 ? [direction[0] / across, direction[1] / across] : [0, 0];
      return [(x + dx * far) / width, (y + dy * far) / height];
    },
    /** Positions outside the image circle count as its edge. */
    toDirection(u, v) {
      const [dx, dy] = [u * width - x, v * height - y];
      const far = Math.hypot(dx, dy);
      if (far === 0) return [0, 0, 1];
      const angle = Math.min(shape.angle(far / length), widest);
      return [dx / far * Math.sin(angle), dy / far * Math.sin(angle), Math.cos(angle)];
    },
  };
}

/** Points around a view's picture, as directions of the scene. */
export function outlineOf(view, pose, field, shape) {
  const parts = 16;
  const side = Array.from({ length: parts }, (_, index) => index / parts);
  const edge = [
    ...side.map((part) => [part, 0]), ...side.map((part) => [1, part]),
    ...side.map((part) => [1 - part, 1]), ...side.map((part) => [0, 1 - part]),
  ];
  return edge.map(([x, y]) => seen(rayOf(x, y, view, field, shape), pose));
}

/** The middle of a view's picture, as a direction of the scene. */
export const middleOf = (pose) => seen([0, 0, 1], pose);
