// The schedules of the open camera: when each is due next, and the result of its last moment.
import { moment } from "./words.js";

const byID = (id) => document.getElementById(id);

/** The part of the open view that shows the schedules of its camera. */
export class Schedules {
  #shown = "";

  /** Shows the schedules of a tile's camera, or none. `stores` are those of `/api/cameras`. */
  show(tile, stores) {
    const { schedules = [], views = [] } = tile?.camera ?? {};
    byID("schedules").hidden = schedules.length === 0;
    const enabled = views.filter((view) => view.enabled).map(({ name }) => name);
    const lines = [
      ...schedules.map((schedule) => describe(schedule, enabled)),
      ...(stores ?? []).filter((store) => store.problem).map(complain),
    ];
    // A line that has not changed keeps its tooltip open.
    const shown = JSON.stringify(lines);
    if (shown === this.#shown) return;
    this.#shown = shown;
    byID("schedule-list").replaceChildren(...lines.map(lineOf));
  }
}

/**
 * Describes a schedule. Its views are named only if some of those that are switched on are missing. Of a
 * camera of another node only the name and the views are known.
 */
function describe({ name, views, next, last, taken, missed, failed }, enabled) {
  const someViews = views && !enabled.every((view) => views.includes(view)) ? views.join(", ") : "";
  const isKnown = taken !== undefined;
  const result = last && `${last.result} ${moment(last.moment)}${last.reason ? `: ${last.reason}` : ""}`;
  return {
    name,
    facts: [someViews, next ? `next ${moment(next)}` : isKnown && "nothing due"].filter(Boolean),
    result,
    state: last?.result,
    title: isKnown ? `${taken} taken, ${missed} missed, ${failed} failed` : "",
  };
}

/** Describes a store whose last attempt failed. */
const complain = ({ name, problem, waiting, sent, failed, dropped }) => ({
  warning: `store ${name}: ${problem}${waiting > 0 ? `; ${waiting} waiting` : ""}`,
  title: `${sent} sent, ${failed} failed, ${dropped} dropped`,
});

function lineOf({ name, facts, result, state, warning, title }) {
  const line = Object.assign(document.createElement("li"), { title });
  if (warning) {
    line.className = "late";
    line.textContent = warning;
    return line;
  }
  line.append(Object.assign(document.createElement("b"), { textContent: name }), ` ${facts.join(" · ")}`);
  if (!result) return line;
  const last = Object.assign(document.createElement("span"), { textContent: result });
  last.dataset.result = state;
  line.append(" · ", last);
  return line;
}
