// @ts-check
/**
 * Describes elements, and brings a part of the page in line with a description in place: elements that stay keep their
 * focus, their selection and what people typed into them. All text becomes text nodes and attributes, never HTML.
 */

/** @typedef {{ tag: string, attributes: Record<string, unknown>, children: Child[] }} Description */
/** @typedef {Description | string | number | false | null | undefined | Child[]} Child */

const SVG = 'http://www.w3.org/2000/svg';

/** The attributes that each element has now. @type {WeakMap<Element, Record<string, unknown>>} */
const current = new WeakMap();

/**
 * Attributes that begin with `on` are listeners. A `value` is set when the description changes it, and never while
 * people type. A `key` tells elements of one parent apart that may change their places.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...Child} children
 * @returns {Description}
 */
export function h(tag, attributes = {}, ...children) {
  return { tag, attributes, children };
}

/** @param {Element} root @param {...Child} children */
export function render(root, ...children) {
  const focused = document.activeElement;
  const selected = selectionNow();
  patchChildren(root, children);
  if (focused instanceof HTMLElement && focused.isConnected && focused !== document.activeElement)
    focused.focus({ preventScroll: true });
  if (selected !== undefined) select(selected);
}

/** Shows characters that cannot be seen or that change the direction of text: `\u{202e}`. @param {string} text */
export function visible(text) {
  return text.replace(
    /[^\P{C}\n\t]|[\u2028\u2029]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** @param {Element} parent @param {Child[]} children */
function patchChildren(parent, children) {
  const reusable = reusableNodes(parent);
  const nodes = flat(children).map((child) => {
    const node = reusable.take(child) ?? create(child, parent);
    patch(node, child);
    return node;
  });
  for (const node of reusable.rest()) node.remove();
  let place = parent.firstChild;
  for (const node of nodes) {
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
  }
}

/** @param {Child[]} children @returns {(Description | string)[]} */
function flat(children) {
  return children.flatMap((child) => {
    if (Array.isArray(child)) return flat(child);
    if (child === false || child === null || child === undefined) return [];
    return [typeof child === 'object' ? child : String(child)];
  });
}

/** The nodes of an element by their kind and key, each to be taken once. @param {Element} parent */
function reusableNodes(parent) {
  /** @type {Map<string, ChildNode[]>} */
  const nodes = new Map();
  for (const node of parent.childNodes) {
    const kind =
      node instanceof Element ? kindOf(node.localName, current.get(node)?.key) : node.nodeName;
    const alike = nodes.get(kind);
    if (alike === undefined) nodes.set(kind, [node]);
    else alike.push(node);
  }
  return {
    /** @param {Description | string} child */
    take: (child) =>
      nodes
        .get(typeof child === 'string' ? '#text' : kindOf(child.tag, child.attributes.key))
        ?.shift(),
    rest: () => [...nodes.values()].flat(),
  };
}

/** @param {string} tag @param {unknown} key */
function kindOf(tag, key) {
  return `${tag} ${key ?? ''}`;
}

/** @param {Description | string} child @param {Element} parent */
function create(child, parent) {
  if (typeof child === 'string') return document.createTextNode('');
  const isSvg = child.tag === 'svg' || parent.namespaceURI === SVG;
  return isSvg ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag);
}

/** @param {ChildNode} node @param {Description | string} child */
function patch(node, child) {
  if (typeof child === 'string') {
    const text = visible(child);
    if (node instanceof Text && node.data !== text) node.data = text;
  } else if (node instanceof Element) {
    const had = current.get(node)?.value;
    const { value } = child.attributes;
    patchAttributes(node, child.attributes);
    patchChildren(node, child.children);
    // A select has its options now.
    if (value !== had && node !== document.activeElement) Reflect.set(node, 'value', value);
  }
}

/** @param {Element} element @param {Record<string, unknown>} wanted */
function patchAttributes(element, wanted) {
  const had = current.get(element) ?? {};
  current.set(element, wanted);
  for (const name of new Set([...Object.keys(had), ...Object.keys(wanted)])) {
    const value = wanted[name];
    if (name === 'key' || name === 'value' || value === had[name]) continue;
    if (name.startsWith('on')) Reflect.set(element, name, value ?? null);
    else if (value === undefined || value === false || value === null)
      element.removeAttribute(name);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

function selectionNow() {
  const selection = getSelection();
  if (selection === null || selection.isCollapsed) return undefined;
  const { anchorNode, anchorOffset, focusNode, focusOffset } = selection;
  return { anchorNode, anchorOffset, focusNode, focusOffset };
}

/** @param {NonNullable<ReturnType<typeof selectionNow>>} selected */
function select({ anchorNode, anchorOffset, focusNode, focusOffset }) {
  if (!anchorNode?.isConnected || !focusNode?.isConnected) return;
  const now = selectionNow();
  const isSame =
    now?.anchorNode === anchorNode &&
    now.anchorOffset === anchorOffset &&
    now.focusNode === focusNode &&
    now.focusOffset === focusOffset;
  if (isSame) return;
  getSelection()?.setBaseAndExtent(
    anchorNode,
    Math.min(anchorOffset, lengthOf(anchorNode)),
    focusNode,
    Math.min(focusOffset, lengthOf(focusNode)),
  );
}

/** @param {Node} node */
function lengthOf(node) {
  return node instanceof Text ? node.data.length : node.childNodes.length;
}
