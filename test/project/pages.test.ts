/** The pages that people read: every link leads to a file and a heading, every path that a page names exists. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = globSync(['*.md', 'docs/**/*.md', 'bench/*.md', 'deploy/**/*.md'], {
  cwd: ROOT,
}).sort();
const read = (page: string) => readFileSync(join(ROOT, page), 'utf8');
const withoutBlocks = (text: string) => text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');

/** GitHub's anchor of a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
const anchorsOf = (page: string) =>
  [...withoutBlocks(read(page)).matchAll(/^#+ (.*)$/gm)].map(([, text = '']) => anchorOf(text));

/** The pages that a page links to. */
const linkedFrom = (page: string) =>
  [...withoutBlocks(read(page)).matchAll(/\]\((?!https?:|#)([^)#]+\.md)(?:#[^)]*)?\)/g)].map(
    ([, path = '']) => join(dirname(page), path),
  );

test('every page of docs/ can be reached from README.md', () => {
  const reached = new Set(['README.md']);
  for (const page of reached) for (const next of linkedFrom(page)) reached.add(next);
  expect(PAGES.filter((page) => page.startsWith('docs/') && !reached.has(page))).toEqual([]);
});

test('there are pages', () => {
  expect(PAGES).toEqual(expect.arrayContaining(['README.md', 'docs/glossary.md']));
});

describe.each(PAGES)('%s', (page) => {
  const text = withoutBlocks(read(page));

  test('has links that lead to files and headings', () => {
    for (const [link, path = '', anchor] of text.matchAll(
      /\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g,
    )) {
      const target = path === '' ? page : join(dirname(page), path);
      expect(existsSync(join(ROOT, target)), link).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(target), link).toContain(anchor);
    }
  });

  test('shows pictures that exist, and links to others by https', () => {
    for (const [, path = ''] of text.matchAll(/(?:src|srcset)="([^"]+)"/g))
      expect(existsSync(join(ROOT, dirname(page), path)), path).toBe(true);
    for (const [, url = ''] of text.matchAll(/\]\((http[^)]*)\)/g)) {
      expect(url).toMatch(/^https:/);
      expect(URL.canParse(url), url).toBe(true);
    }
  });

  test('names files that exist', () => {
    for (const [, path = ''] of text.matchAll(/`((?:src|test|tools|deploy|lua|bench)\/[\w./-]+)`/g))
      if (!path.includes('NAME') && !METHOD_OF_MCP.test(path))
        expect(existsSync(join(ROOT, path)), path).toBe(true);
  });
});

const METHOD_OF_MCP = /^tools\/(call|list)$/;

test('the glossary names the place of each word', () => {
  const places = [...read('docs/glossary.md').matchAll(/^\|[^|]+\|[^|]+\|([^|]+)\|$/gm)]
    .map(([, cell = '']) => cell)
    .filter((cell) => cell.includes('`'));
  expect(places.length).toBeGreaterThan(50);
  for (const [, path = ''] of places.join().matchAll(/`([^`]+)`/g)) {
    const exists = [path, `src/${path}`].some((each) => existsSync(join(ROOT, each)));
    expect(exists, path).toBe(true);
  }
});
