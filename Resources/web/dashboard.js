// The dashboard. At most two connections stay open: events, and either one stream of all visible views, or
// the video of the only visible view, unless that comes by WebRTC.
import { askJSON, offerPath, session, signOut, videoPath } from "./dashboard/api.js";
import { Detail } from "./dashboard/detail.js";
import { Snapshots } from "./dashboard/snapshots.js";
import { LiveStream } from "./dashboard/stream.js";
import { LiveVideo } from "./dashboard/video.js";
import { LivePeer } from "./dashboard/webrtc.js";
import { Moves } from "./dashboard/moves.js";
import { Links } from "./dashboard/links.js";
import { Recordings } from "./dashboard/recordings.js";
import { Schedules } from "./dashboard/schedules.js";
import { Overview } from "./dashboard/tiles.js";
import { count, say } from "./dashboard/words.js";

const byID = (id) => document.getElementById(id);

// ---- State of the service

let known = { cameras: [], role: "read", device: null, version: "" };
let refreshing = null;

/** Requests all cameras, and shows them. Calls during a request get the same answer. */
function refresh() {
  if (refreshing) return refreshing;
  const asked = performance.now();
  refreshing = askJSON("api/cameras").then((answer) => {
    moves.settle(answer.cameras, asked);
    show(answer);
  }).finally(() => { refreshing = null; });
  return refreshing;
}

let refreshTimer = 0;

/** Requests all cameras 200 ms from now, once for all calls until then: while a view is turned, many events come. */
function refreshSoon() {
  refreshTimer ||= setTimeout(() => {
    refreshTimer = 0;
    // The answer of a request that is running may be too old.
    (refreshing ?? Promise.resolve()).catch(() => {}).then(refresh).catch(() => {});
  }, 200);
}

function show(answer) {
  known = answer;
  const canControl = answer.role === "control";
  overview.update(answer, canControl);
  detail.canControl = canControl;
  if (detail.isOpen && overview.tile(detail.tile.key) !== detail.tile) detail.close();
  detail.update();
  showRecordings();
  byID("cameras").setAttribute("aria-busy", "false");
  byID("empty").hidden = answer.cameras.length > 0 || overview.isGrouped;
  byID("shoot-all").hidden = byID("detail-shoot").hidden = !canControl;
  byID("leave").hidden = !session.isSignedIn;
  showSummary();
  showDevice(answer.device, answer.version);
  showFailure(answer.device_failure);
  look();
}

function showSummary() {
  const cameras = known.cameras.filter((camera) => camera.kind !== "scene");
  const live = cameras.filter((camera) => camera.state === "live").length;
  const away = cameras.some((camera) => camera.state === "lost" || camera.state === "stalled");
  const all = count(cameras.length, "camera");
  say(byID("summary"), live === cameras.length ? `${all} live` : away ? `${live} of ${all} live` : all);
  byID("summary").dataset.isWhole = !away;
}

function showDevice(device, version) {
  const badge = byID("software");
  badge.hidden = !device?.software;
  badge.title = `No GPU: ${device?.name ?? "a software renderer"} renders on the CPU.${device?.passed_over ? ` ${device.passed_over}` : ""}`;
  badge.querySelector(".badge-long").textContent = ` renderer · ${device?.name.split(" (")[0] ?? ""}`;
  const load = device?.load === undefined ? "" : `, busy for ${Math.round(device.load * 100)} % of the time`;
  const shaders = device?.shaders === "compute" ? ", by compute shaders" : "";
  const jpeg = device?.jpeg === "gpu" ? ", which codes JPEGs" : "";
  document.querySelector(".brand").title = `GLPreview ${version}${device ? ` on ${device.name}${shaders}${jpeg}${load}` : ""}`;
}

/** Shows why nothing can be drawn; hidden without a reason. */
function showFailure(reason) {
  byID("failure").hidden = !reason;
  say(byID("failure-text"), reason ? `Can't render pictures: ${reason}` : "");
}

// ---- Views

const overview = new Overview(byID("cameras"), {
  onOpen: (tile) => detail.open(tile),
  onShoot: (camera) => snapshots.take(camera),
  onSeen: () => soon(look),
});

const moves = new Moves({ onProblem: (text) => complain(text), onMove: () => detail.showMoves() });

const detail = new Detail({
  moves,
  onChange: () => {
    showRecordings();
    look();
  },
  onView: (camera, view) => {
    const tile = overview.tile(`${camera}/${view.name}`);
    const rest = known.cameras.find(({ name }) => name === camera);
    if (!tile || !rest) return;
    rest.views = rest.views.map((old) => (old.name === view.name ? view : old));
    show(known);
  },
  onShoot: (camera) => snapshots.take(camera),
});

const snapshots = new Snapshots((text) => complain(text));

const recordings = new Recordings((text) => complain(text));

const schedules = new Schedules();

const links = new Links();

/** Shows the recordings and schedules of the open camera, and the form for links. */
function showRecordings() {
  recordings.show(detail.tile, known.role === "control");
  schedules.show(detail.tile, known.role === "control" ? known.stores : []);
  links.show(detail.tile, known.links);
}

const stream = new LiveStream((part) => {
  const tile = overview.tile(`${part.camera}/${part.view}`);
  tile?.show(part);
  if (tile && tile === detail.tile) detail.show(part);
}, (state, retryAt) => showStream("mjpeg", state, retryAt));

const video = new LiveVideo(
  (player) => draw(player), () => look(), (state, retryAt) => showStream("h264", state, retryAt));

const peer = new LivePeer((player) => draw(player), () => look());

/** The key of the tile whose video is played; null while JPEGs are shown. */
let played = null;

/** Draws the current picture of a player. */
function draw(player) {
  const tile = overview.tile(played);
  tile?.screen.draw(player);
  if (!tile || tile !== detail.tile) return;
  detail.screen.draw(player);
  detail.showState(tile.element.dataset.state);
}

function showStream(codec, state, retryAt) {
  if (codec !== (played === null ? "mjpeg" : peer.isPlaying ? "webrtc" : "h264")) return;
  Object.assign(document.documentElement.dataset, { stream: state, codec });
  outage.set("stream", state === "waiting" ? retryAt : null);
}

/**
 * Requests the views that are visible, and no others, as they are served: another size would be drawn and
 * encoded for this page alone. A single view is played as video if possible: at once by HTTP, and by WebRTC
 * as soon as that has connected.
 */
function look() {
  const tiles = document.hidden ? [] : detail.isOpen ? [detail.tile] : overview.tiles.filter((tile) => tile.isSeen);
  const enabled = tiles.filter((tile) => tile.view.enabled);
  const names = enabled.length === 1 ? [enabled[0].camera.name, enabled[0].view.name] : null;
  peer.want(names && offerPath(...names));
  played = names !== null && (peer.isPlaying || video.isUsable) ? enabled[0].key : null;
  if (played) {
    const { keyframe, running } = enabled[0].view.video ?? {};
    // The interval of a camera's own keyframes is unknown.
    video.keyframe = running === "passed" ? 60 : keyframe ?? 10;
  }
  video.want(played && !peer.isPlaying ? videoPath(...names) : null);
  if (peer.isPlaying) showStream("webrtc", "open", null);
  if (played || enabled.length === 0) {
    stream.want(null);
    return played || showStream("mjpeg", "idle", null);
  }
  const isFew = enabled.length === 1;
  const words = new URLSearchParams(enabled.map((tile) => ["view", tile.key]));
  words.append("fps", isFew ? (known.device?.software ? 15 : 30) : 10);
  stream.want(`api/stream?${words}`);
}

let soonTimer = 0;

/** Runs an action once, 150 ms after the last call. */
function soon(action) {
  clearTimeout(soonTimer);
  soonTimer = setTimeout(action, 150);
}

document.addEventListener("visibilitychange", () => {
  look();
  if (!document.hidden) refresh().catch(() => {});
});

// ---- Events

let events = null;
let eventsPause = 1000;
let eventsTimer = 0;

function listen() {
  clearTimeout(eventsTimer);
  events?.close();
  events = new EventSource("api/events");
  events.addEventListener("open", () => {
    eventsPause = 1000;
    document.documentElement.dataset.events = "open";
    outage.set("events", null);
    // Events in the meantime were not received.
    refresh().catch(() => {});
  });
  events.addEventListener("snapshot", (event) => snapshots.show(JSON.parse(event.data)));
  events.addEventListener("camera", (event) => {
    const { camera, ...state } = JSON.parse(event.data);
    overview.setState(camera, state);
    if (detail.tile?.camera.name === camera) detail.update();
    showSummary();
  });
  for (const type of ["view", "service", "recording", "motion", "move", "schedule"]) {
    events.addEventListener(type, refreshSoon);
  }
  events.addEventListener("error", () => {
    document.documentElement.dataset.events = "waiting";
    // The browser reconnects by itself after a broken connection, but not after an answer like 401 or 503.
    if (events.readyState === EventSource.CLOSED) listenLater();
    else outage.set("events", Date.now() + 3000);
  });
}

function listenLater() {
  const pause = eventsPause * (0.75 + Math.random() / 2);
  eventsPause = Math.min(eventsPause * 2, 10_000);
  outage.set("events", Date.now() + pause);
  clearTimeout(eventsTimer);
  // `refresh` shows the sign-in form after a 401.
  eventsTimer = setTimeout(() => refresh().then(listen, listenLater), pause);
}

// ---- Problems

/** Reports that the server does not answer, after a second. */
const outage = {
  until: new Map(),
  timer: 0,

  set(connection, retryAt) {
    if (retryAt === null) this.until.delete(connection);
    else this.until.set(connection, retryAt);
    clearInterval(this.timer);
    if (this.until.size === 0) return this.hide();
    this.timer = setInterval(() => this.say(), 1000);
    if (!byID("notice").hidden) this.say();
  },

  say() {
    const seconds = Math.ceil((Math.min(...this.until.values()) - Date.now()) / 1000);
    const when = seconds > 0 ? `Retrying in ${seconds} s.` : "Trying …";
    notice(`The server does not answer. ${when}`, true);
  },

  hide() {
    if (byID("notice").dataset.kind === "outage") byID("notice").hidden = true;
  },
};

let complaintTimer = 0;

function complain(text) {
  notice(text, false);
  clearTimeout(complaintTimer);
  complaintTimer = setTimeout(() => { if (byID("notice").dataset.kind === "problem") byID("notice").hidden = true; }, 6000);
}

function notice(text, isOutage) {
  byID("notice").dataset.kind = isOutage ? "outage" : "problem";
  byID("notice-text").textContent = text;
  byID("notice-retry").hidden = !isOutage;
  byID("notice").hidden = false;
}

function retryNow() {
  (played ? video : stream).retryNow();
  if (outage.until.has("events")) listen();
}

byID("notice-retry").addEventListener("click", retryNow);
addEventListener("online", retryNow);

// ---- User actions

const themes = ["system", "light", "dark"];

function setTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("glpreview.theme", theme);
  } catch {
    // The theme then applies to this page only.
  }
  nameTheme();
}

function nameTheme() {
  const theme = document.documentElement.dataset.theme ?? "system";
  byID("theme").title = { system: "Light or dark, as set by the system (T)", light: "Light (T)", dark: "Dark (T)" }[theme];
  byID("theme").setAttribute("aria-label", `Appearance: ${theme}`);
}

function nextTheme() {
  const theme = document.documentElement.dataset.theme ?? "system";
  setTheme(themes[(themes.indexOf(theme) + 1) % themes.length]);
}

/** Takes snapshots of the open or focused camera, else of every camera. */
function shoot() {
  if (known.role !== "control") return;
  const focused = document.activeElement?.closest?.(".camera")?.dataset.camera;
  const camera = detail.tile?.camera.name ?? focused;
  const cameras = camera ? [camera] : known.cameras.map(({ name }) => name);
  for (const name of cameras) snapshots.take(name);
}

/** Moves to the view before or after the open or focused one. */
function step(by) {
  const tiles = overview.open;
  const index = tiles.findIndex((tile) => tile === detail.tile || tile.button === document.activeElement);
  const next = tiles[((index < 0 && by < 0 ? 0 : index) + by + tiles.length) % tiles.length];
  if (!next) return;
  if (detail.isOpen) detail.open(next);
  else next.button.focus({ focusVisible: true });
}

const keys = {
  s: shoot,
  t: nextTheme,
  f: () => { if (detail.isOpen) detail.toggleFullScreen(); },
  "?": () => byID("help").showModal(),
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
  Escape: () => detail.escape(),
};

addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input:not([type=checkbox]), select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey || byID("login").open || byID("help").open) return;
  if (isTyping && event.key !== "Escape") return;
  const digit = Number(event.key);
  const action = digit >= 1
    ? () => { const tile = overview.open[digit - 1]; if (tile) detail.open(tile); }
    : keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

byID("theme").addEventListener("click", nextTheme);
byID("help-open").addEventListener("click", () => byID("help").showModal());
byID("leave").addEventListener("click", () => signOut().catch((error) => complain(error.message)));
byID("shoot-all").addEventListener("click", () => {
  for (const { name } of known.cameras) snapshots.take(name);
});
byID("detail-back").addEventListener("click", () => step(-1));
byID("detail-next").addEventListener("click", () => step(1));

// ---- Start

nameTheme();
refresh().then(listen, (error) => {
  if (error instanceof TypeError) complain("The server does not answer.");
  listenLater();
});
// Measured frame rates change without an event.
setInterval(() => {
  if (document.hidden) return;
  overview.tick();
  refresh().catch(() => {});
}, 5000);
