// An expression with its words coloured. Text nodes only.
import {h} from "./dom.js";

const TOKEN = /(\/\/[^\n]*)|([rRbB]{0,2}(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))|(\b\d[\w.]*)|([A-Za-z_]\w*)|(&&|\|\||[=!<>]=|[-+*/%!<>?:])|([\s\S])/g;
const WORDS = new Set(["true", "false", "null", "in", "has", "all", "exists", "exists_one", "map", "filter"]);

function celSpans(text) {
  const out = [];
  let plain = "";
  const push = (kind, word) => {
    if (plain) out.push(plain);
    plain = "";
    out.push(h("span", {class: `cel-${kind}`}, word));
  };
  for (const [whole, remark, string, number, name, operator] of text.matchAll(TOKEN)) {
    if (remark) push("remark", whole);
    else if (string) push("string", whole);
    else if (number) push("number", whole);
    else if (name && WORDS.has(name)) push("word", whole);
    else if (operator) push("operator", whole);
    else plain += whole;
  }
  if (plain) out.push(plain);
  return out;
}

export const celText = (text) => h("pre", {class: "cel", tabindex: "0"}, h("code", {}, celSpans(text)));

const OUTCOMES = {True: ["true", "✓ true"], False: ["false", "✕ false"], Unknown: ["unknown", "◐ unknown"], Error: ["error", "! fails"], Value: ["value", "= value"]};

// The parts of an expression, each coloured by its value. `parts` is flat; `depth` says what is inside what.
export function partsView(parts) {
  const root = h("ul", {class: "parts"});
  const open = [root];
  for (const part of parts) {
    const [tone, word] = OUTCOMES[part.outcome] ?? OUTCOMES.Value;
    const isPlain = part.outcome === "True" || part.outcome === "False";
    const item = h("li", {}, h("code", {class: `part ${tone}`}, celSpans(part.expression)), " ", h("span", {class: "hint"}, word,
      !isPlain && part.value && part.value !== part.expression ? `: ${part.value}` : ""));
    while (open.length > part.depth + 1) open.pop();
    open[open.length - 1].append(item);
    const inner = h("ul", {class: "parts"});
    item.append(inner);
    open.push(inner);
  }
  for (const list of [root, ...root.querySelectorAll("ul")]) if (!list.children.length && list !== root) list.remove();
  return root;
}
