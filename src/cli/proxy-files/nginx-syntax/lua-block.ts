/** Finds the end of Lua code in an NGINX file. In Lua, an apostrophe or a brace may stand in a comment or a text. */

/** What OpenResty looks at: the beginning of a long bracket, a comment, a text, or a brace. */
const TOKEN = /(?:--)?\[(=*)\[|--[^\n]*|"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'|[{}]/g;

/** Behind the brace that closes the block. Undefined if there is none, or a long bracket has no end. */
export function endOfLua(text: string, start: number): number | undefined {
  let depth = 1;
  TOKEN.lastIndex = start;
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
    const [token, level] = match;
    if (level !== undefined) {
      const closing = `]${level}]`;
      const end = text.indexOf(closing, TOKEN.lastIndex);
      if (end === -1) return undefined;
      TOKEN.lastIndex = end + closing.length;
    }
    if (token === '{') depth++;
    if (token === '}' && --depth === 0) return TOKEN.lastIndex;
  }
  return undefined;
}
