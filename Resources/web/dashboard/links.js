// Signed links to the open view, which show it without a password until they end.
import { askJSON, linksPath } from "./api.js";
import { copy } from "./detail.js";

const byID = (id) => document.getElementById(id);

/** The form that creates a link. */
export class Links {
  #tile = null;
  #shown = null;

  constructor() {
    this.form = byID("link-form");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#create();
    });
    byID("link-copy").addEventListener("click", () => copy(byID("link-url").value, byID("link-copy")));
    byID("link-url").addEventListener("focus", () => byID("link-url").select());
  }

  /** Shows the form for a tile, or none. `links` are those of `/api/cameras`; missing if no link can be signed. */
  show(tile, links) {
    const camera = tile?.camera.name;
    const keys = (links?.keys ?? []).filter((key) => !key.cameras || key.cameras.includes(camera));
    this.form.hidden = !tile || keys.length === 0;
    byID("link-forever").hidden = byID("link-forever").disabled = !keys.some((key) => key.forever);
    if (tile?.key !== this.#shown) this.#forget();
    [this.#tile, this.#shown] = [tile, tile?.key];
  }

  async #create() {
    const { camera, view, key } = this.#tile;
    const { kind, time } = Object.fromEntries(new FormData(this.form));
    this.#forget();
    try {
      const link = await askJSON(linksPath, {
        method: "POST",
        body: { path: view.urls[kind], ...(time === "forever" ? { forever: true } : { for: time }) },
      });
      if (this.#shown !== key) return;
      byID("link-url").value = new URL(link.url.replace(/^\//, ""), document.baseURI).href;
      byID("link-end").textContent = link.expires
        ? `Shows ${camera.name} ${view.name} to everybody who has it, until ${new Date(link.expires).toLocaleString()}.`
        : `Shows ${camera.name} ${view.name} to everybody who has it, without an end.`;
      byID("link-made").hidden = false;
    } catch (error) {
      if (this.#shown !== key) return;
      byID("link-problem").textContent = error.message;
      byID("link-problem").hidden = false;
    }
  }

  #forget() {
    byID("link-url").value = "";
    byID("link-made").hidden = byID("link-problem").hidden = true;
  }
}
