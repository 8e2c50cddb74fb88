/** Blanks what stands in the Lua blocks of an NGINX file. It is another language: an apostrophe or a brace is no sign of NGINX there. */

const OPENING = /^[^#\n]*?\b\w+_by_lua_block(?:\s+\$\w+)?\s*\{/gm;
/** A comment, a text or a brace of Lua. */
const TOKEN =
  /--\[\[[\s\S]*?\]\]|--[^\n]*|\[(=*)\[[\s\S]*?\]\1\]|"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'|[{}]/g;

/** Lines keep their numbers. */
export function withoutLua(text: string): string {
  if (!text.includes('_by_lua_block')) return text;
  let result = '';
  let done = 0;
  OPENING.lastIndex = 0;
  for (let match = OPENING.exec(text); match !== null; match = OPENING.exec(text)) {
    const start = match.index + match[0].length;
    const end = endOfBlock(text, start);
    if (end === undefined) break;
    result += text.slice(done, start) + text.slice(start, end).replaceAll(/[^\n]/g, ' ');
    done = end;
    OPENING.lastIndex = end;
  }
  return result + text.slice(done);
}

/** Where its closing brace is. */
function endOfBlock(text: string, start: number): number | undefined {
  let depth = 1;
  TOKEN.lastIndex = start;
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
    if (match[0] === '{') depth++;
    if (match[0] === '}' && --depth === 0) return match.index;
  }
  return undefined;
}
