// Requests to the service: JSON in and out, problems as errors, and signing in when required.
// All URLs are relative to the page, because a proxy may serve it below another path.

/** A problem that the service reports (RFC 9457). */
export class Problem extends Error {
  /** `retryAfter` is in seconds, 0 if the service names no time. */
  constructor(status, body, retryAfter = 0) {
    super(body?.detail ?? body?.title ?? `The server answered ${status}.`);
    this.status = status;
    this.parameter = body?.parameter ?? null;
    this.retryAfter = retryAfter;
  }
}

let clockAhead = 0;

/** The service's time, in milliseconds since 1970: its clock may differ from the browser's. */
export const serverNow = () => Date.now() + clockAhead;

/**
 * Sends a request. After a 401 it lets the user sign in, and sends it again. Throws TypeError without a
 * network. The body is sent as JSON unless it has another `type`.
 */
export async function ask(path, { method = "GET", body, type, signal } = {}) {
  for (;;) {
    const response = await fetch(path, {
      method, signal, cache: "no-store", credentials: "same-origin",
      headers: {
        "X-Requested-With": "glpreview",
        ...(body === undefined ? {} : { "Content-Type": type ?? "application/json" }),
      },
      body: body === undefined || type ? body : JSON.stringify(body),
    });
    clockAhead = Date.parse(response.headers.get("Date")) - Date.now() || 0;
    if (response.ok) return response;
    const retryAfter = Number(response.headers.get("Retry-After")) || 0;
    const problem = new Problem(response.status, await response.json().catch(() => null), retryAfter);
    if (problem.status !== 401 || path === "api/login") throw problem;
    await signIn();
  }
}

/** Requests JSON; null if the answer is empty. */
export async function askJSON(path, options) {
  const response = await ask(path, options);
  return response.status === 204 ? null : response.json();
}

export const viewPath = (camera, view) =>
  `api/cameras/${encodeURIComponent(camera)}/views/${encodeURIComponent(view)}`;
export const movePath = (camera, view) => `${viewPath(camera, view)}/move`;
export const videoPath = (camera, view) =>
  `cameras/${encodeURIComponent(camera)}/${encodeURIComponent(view)}.mp4`;
export const offerPath = (camera, view) =>
  `cameras/${encodeURIComponent(camera)}/${encodeURIComponent(view)}/whep`;
export const snapshotPath = (camera) => `api/cameras/${encodeURIComponent(camera)}/snapshots`;
export const linksPath = "api/links";
export const motionPath = (camera) => `api/cameras/${encodeURIComponent(camera)}/motion`;
export const timelinePath = (camera) => `api/cameras/${encodeURIComponent(camera)}/timeline`;
export const recordPath = (camera) => `api/cameras/${encodeURIComponent(camera)}/recording`;

/** Whether the user signed in on this page and can sign out. */
export const session = { isSignedIn: remembered() };

let signingIn = null;

/** Shows the sign-in form until it succeeds. Calls in the meantime wait for the same form. */
function signIn() {
  signingIn ??= showLogin().finally(() => { signingIn = null; });
  return signingIn;
}

function showLogin() {
  const dialog = document.getElementById("login");
  const forms = dialog.querySelectorAll("form");
  const complaint = document.getElementById("login-problem");
  return new Promise((resolve) => {
    const stay = (event) => event.preventDefault();
    const submit = async (event) => {
      event.preventDefault();
      complaint.hidden = true;
      try {
        await ask("api/login", { method: "POST", body: Object.fromEntries(new FormData(event.target)) });
      } catch (error) {
        complaint.textContent = error.status === 401 ? "Wrong token, user name or password." : error.message;
        complaint.hidden = false;
        return;
      }
      for (const form of forms) {
        form.removeEventListener("submit", submit);
        form.reset();
      }
      dialog.removeEventListener("cancel", stay);
      dialog.close();
      remember(true);
      resolve();
    };
    for (const form of forms) form.addEventListener("submit", submit);
    dialog.addEventListener("cancel", stay);
    dialog.showModal();
  });
}

export async function signOut() {
  await ask("api/logout", { method: "POST" });
  remember(false);
  location.reload();
}

function remember(isSignedIn) {
  session.isSignedIn = isSignedIn;
  try {
    if (isSignedIn) localStorage.setItem("glpreview.session", "1");
    else localStorage.removeItem("glpreview.session");
  } catch {
    // Only the sign-out button depends on it.
  }
}

function remembered() {
  try {
    return localStorage.getItem("glpreview.session") === "1";
  } catch {
    return false;
  }
}
