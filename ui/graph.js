// A picture of things in columns and the lines between them, as SVG, and the same as a list for those who do not see it.
import {h, svg} from "./dom.js";

const HEIGHT = 42, GAP_Y = 12, TOP = 30, EDGE = 8;
// So that four columns fit beside a form where the window is wide enough.
const sizes = () => (innerWidth >= 1500 ? {WIDTH: 200, GAP_X: 50, letters: 27} : {WIDTH: 150, GAP_X: 36, letters: 20});

const cut = (text, letters) => (text.length > letters ? `${text.slice(0, letters - 1)}…` : text);

// nodes: [{id, column, label, sub, tone}], edges: [[id, id]].
export function drawGraph({titles, nodes, edges, label}) {
  const {WIDTH, GAP_X, letters} = sizes();
  const columns = titles.map((_, i) => nodes.filter((n) => n.column === i));
  const used = columns.map((c, i) => (c.length ? i : -1)).filter((i) => i >= 0);
  const place = new Map();
  const most = Math.max(...columns.map((c) => c.length));
  const height = TOP + most * (HEIGHT + GAP_Y) + EDGE;
  const width = EDGE * 2 + used.length * WIDTH + (used.length - 1) * GAP_X;
  used.forEach((column, at) => {
    const list = columns[column];
    // Close to what they are connected to: the order of the column before decides.
    const rank = (n) => {
      const before = edges.filter(([, to]) => to === n.id).map(([from]) => place.get(from)?.y ?? 0);
      return before.length ? before.reduce((a, b) => a + b, 0) / before.length : 0;
    };
    const ranks = new Map(list.map((n) => [n, rank(n)]));
    list.sort((a, b) => ranks.get(a) - ranks.get(b));
    const free = (most - list.length) * (HEIGHT + GAP_Y) / 2;
    list.forEach((n, i) => place.set(n.id, {x: EDGE + at * (WIDTH + GAP_X), y: TOP + free + i * (HEIGHT + GAP_Y)}));
  });
  const lines = edges.filter(([a, b]) => place.has(a) && place.has(b)).map(([a, b]) => {
    const from = place.get(a), to = place.get(b), x1 = from.x + WIDTH, y1 = from.y + HEIGHT / 2, x2 = to.x, y2 = to.y + HEIGHT / 2, bend = (x2 - x1) / 2;
    return svg("path", {class: "edge", d: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`});
  });
  const boxes = nodes.filter((n) => place.has(n.id)).map((n) => {
    const {x, y} = place.get(n.id);
    return svg("svg", {class: `node ${n.tone ?? ""}`, x, y, width: WIDTH, height: HEIGHT}, svg("title", {}, `${n.label} (${n.sub})`),
               svg("rect", {x: 1, y: 1, width: WIDTH - 2, height: HEIGHT - 2, rx: 7}), svg("text", {x: 10, y: 18}, cut(n.label, letters)), svg("text", {x: 10, y: 33, class: "sub"}, cut(n.sub ?? "", letters + 3)));
  });
  const heads = used.map((column, at) => svg("text", {class: "title", x: EDGE + at * (WIDTH + GAP_X), y: 19}, titles[column]));
  const picture = svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label}, heads, lines, boxes);
  const named = new Map(nodes.map((n) => [n.id, n]));
  const asText = edges.filter(([a, b]) => named.has(a) && named.has(b)).map(([a, b]) =>
    h("li", {}, `${named.get(a).sub} ${named.get(a).label} → ${named.get(b).label}${named.get(b).sub ? ` (${named.get(b).sub})` : ""}`));
  return h("div", {}, h("div", {class: "graph", tabindex: "0", role: "region", "aria-label": `Picture: ${label}`}, picture),
           h("details", {}, h("summary", {}, "The same as a list"), h("ul", {}, asText)));
}
