// Elements are made by these functions alone. Text from the server becomes text nodes and attribute values, never markup.

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "open", "readOnly", "indeterminate"]);

function fill(element, props, children) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false && !PROPERTIES.has(key)) continue;
    if (key === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (key === "class") {
      element.setAttribute("class", value);
    } else if (PROPERTIES.has(key)) {
      element[key] = value;
    } else if (key.startsWith("on") || key === "style" || key === "srcdoc") {
      throw new Error(`the attribute ${key} is not set here`);
    } else {
      element.setAttribute(key, value === true ? "" : String(value));
    }
  }
  add(element, children);
  return element;
}

export function add(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

// h("p", {class: "hint", on: {click}}, "text", h("b", {}, "more"))
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const svg = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

export function replace(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

let lastId = 0;
export const newId = (word) => `${word}-${++lastId}`;

// Calls `action` when `wait` milliseconds have passed without another call.
export function settled(action, wait = 120) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), wait);
  };
}
