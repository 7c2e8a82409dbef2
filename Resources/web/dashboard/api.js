// Questions to the service: JSON in and out, its problems as errors, and signing in where it asks who we are.
// All addresses are relative to the page: it may be served below another path, by a proxy.

/** What the service says is wrong (RFC 9457). */
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail ?? body?.title ?? `The server answered ${status}.`);
    this.status = status;
    this.parameter = body?.parameter ?? null;
  }
}

let clockAhead = 0;

/** The service's time, in milliseconds since 1970: its clock may be another's. */
export const serverNow = () => Date.now() + clockAhead;

/**
 * Asks, and signs in and asks again where the service wants to know who we are. Throws TypeError without a network.
 * The body is sent as JSON unless it has another `type`.
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
    const problem = new Problem(response.status, await response.json().catch(() => null));
    if (problem.status !== 401 || path === "api/login") throw problem;
    await signIn();
  }
}

/** Asks for JSON; null where the answer is empty. */
export async function askJSON(path, options) {
  const response = await ask(path, options);
  return response.status === 204 ? null : response.json();
}

export const viewPath = (camera, view) =>
  `api/cameras/${encodeURIComponent(camera)}/views/${encodeURIComponent(view)}`;
export const videoPath = (camera, view) =>
  `cameras/${encodeURIComponent(camera)}/${encodeURIComponent(view)}.mp4`;
export const offerPath = (camera, view) =>
  `cameras/${encodeURIComponent(camera)}/${encodeURIComponent(view)}/whep`;
export const snapshotPath = (camera) => `api/cameras/${encodeURIComponent(camera)}/snapshots`;
export const motionPath = (camera) => `api/cameras/${encodeURIComponent(camera)}/motion`;
export const timelinePath = (camera) => `api/cameras/${encodeURIComponent(camera)}/timeline`;
export const recordPath = (camera) => `api/cameras/${encodeURIComponent(camera)}/recording`;

/** Whether somebody signed in by this page, who may want to sign out. */
export const session = { isSignedIn: remembered() };

let signingIn = null;

/** Shows the form until somebody is let in; who asks meanwhile waits for the same. */
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
        complaint.textContent = error.status === 401 ? "That is not right." : error.message;
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
    // Only the button to sign out depends on it.
  }
}

function remembered() {
  try {
    return localStorage.getItem("glpreview.session") === "1";
  } catch {
    return false;
  }
}
