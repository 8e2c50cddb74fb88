/** A page in one file, which needs no network: its scripts and styles are in it, and the browser runs no others. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Content, Html, html, jsonForScript } from './html.ts';

const FOLDER = new URL('../../../../web/replay/', import.meta.url);
const { resolve: pathOf } = createRequire(import.meta.url);

export function documentOf(title: string, body: Content, data: unknown): string {
  const style = inline('style', fileOf('uPlot.min.css') + ownFile('page.css'));
  const plots = inline('script', fileOf('uPlot.iife.min.js'));
  const script = inline('script', ownFile('page.js'));
  const policy = [
    "default-src 'none'",
    `style-src ${style.source}`,
    `script-src ${plots.source} ${script.source}`,
    "base-uri 'none'",
    "form-action 'none'",
  ];
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy.join('; ')}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${style.element}
</head>
<body>
${body}
${licence()}
<script type="application/json" id="data">${jsonForScript(data)}</script>
${plots.element}
${script.element}
</body>
</html>
`.markup;
}

/** An element, and its hash as a source for the Content-Security-Policy. */
function inline(name: 'style' | 'script', content: string) {
  // The content is not escaped, so it must not end its element or begin a comment.
  if (/<\/(script|style)|<!--/i.test(content)) throw new RangeError(`unsafe content for <${name}>`);
  const hash = createHash('sha256').update(content).digest('base64');
  return {
    element: new Html(`<${name}>${content}</${name}>`),
    source: `'sha256-${hash}'`,
  };
}

function licence(): Html {
  const text = readFileSync(pathOf('uplot/LICENSE'), 'utf8').replaceAll('\r', '').split('\n');
  return html`<footer>
<p>Made by headgate. This page loads nothing and sends nothing.</p>
<details><summary>uPlot, which draws the plots over time, and its license</summary>
${text.map((line) => html`${line}<br>`)}
</details>
</footer>`;
}

const fileOf = (name: string) => readFileSync(pathOf(`uplot/dist/${name}`), 'utf8');
const ownFile = (name: string) => readFileSync(new URL(name, FOLDER), 'utf8');
