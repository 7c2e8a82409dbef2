// Texts for users: states, times, sizes.
import { serverNow } from "./api.js";

const STATES = { live: "Live", opening: "Opening", stalled: "Stalled", lost: "Lost", off: "Off", idle: "Idle" };

export const stateName = (state) => STATES[state] ?? state;

const NODE_STATES = { up: "Up", lost: "Lost", asking: "Connecting", unauthorized: "Refused" };

export const nodeStateName = (state) => NODE_STATES[state] ?? state;

/** "1 camera", "3 cameras", "no cameras". */
export const count = (number, noun) => `${number || "no"} ${noun}${number === 1 ? "" : "s"}`;

/** "for 3 min" from a time in ISO 8601; empty without one. */
export function forHowLong(since) {
  const seconds = Math.floor((serverNow() - Date.parse(since)) / 1000);
  if (!Number.isFinite(seconds) || seconds < 5) return "";
  if (seconds < 60) return `for ${Math.floor(seconds / 5) * 5} s`;
  if (seconds < 3600) return `for ${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `for ${Math.floor(seconds / 3600)} h`;
  return `for ${Math.floor(seconds / 86400)} d`;
}

/** "29.9 fps"; whole numbers without a point. */
export function rate(fps) {
  const rounded = Math.round(fps * 10) / 10;
  return `${Number.isInteger(rounded) ? rounded : rounded.toFixed(1)} fps`;
}

/** Sets an element's text if it has changed. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export const size = ({ width, height }) => `${width}×${height}`;

/** A camera's format, such as "1280×720 MJPG"; empty if unknown. */
export const format = (camera) =>
  [camera.format?.width && size(camera.format), camera.format?.format, camera.format?.transport === "dma-buf" && "dma-buf"].filter(Boolean).join(" ");

/** The time of day, from seconds since 1970 or a time in ISO 8601. */
export function timeOfDay(timestamp) {
  const date = typeof timestamp === "number" ? new Date(timestamp * 1000) : new Date(timestamp);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleTimeString([], { hour12: false });
}

/** The time of day, after the day unless that is today. */
export function moment(timestamp) {
  const date = new Date(timestamp);
  if (date.toDateString() === new Date().toDateString()) return timeOfDay(timestamp);
  const hasOtherYear = date.getFullYear() !== new Date().getFullYear();
  const day = { weekday: "short", day: "numeric", month: "short", year: hasOtherYear ? "numeric" : undefined };
  return `${date.toLocaleDateString([], day)}, ${timeOfDay(timestamp)}`;
}

/** "camera, main": for names that screen readers speak. */
export const spoken = (camera, view) => `${camera}, ${view}`;

/** The same for a lens view that the user can turn. */
export const spokenTurning = (camera, view) =>
  `${spoken(camera, view)}: a view that turns by the arrow keys, and zooms by plus and minus`;

const degrees = (angle) => `${(Math.round(angle * 10) / 10 || 0).toString().replace("-", "−")}°`;

/** "Yaw 20°, pitch −10°, 60° wide"; the roll if there is any. */
export const direction = ({ yaw, pitch, roll }, field) => [
  `Yaw ${degrees(yaw)}`, `pitch ${degrees(pitch)}`, Math.abs(roll) >= 0.05 && `roll ${degrees(roll)}`,
  `${degrees(field)} wide`,
].filter(Boolean).join(", ");

/** The codec or transport of the pictures that are shown now. */
export const codec = () =>
  ({ h264: "H.264", webrtc: "H.264 by WebRTC" })[document.documentElement.dataset.codec] ?? "JPEG";
