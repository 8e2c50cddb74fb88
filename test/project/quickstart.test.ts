/** The objects of Kubernetes in the quickstarts are those of deploy/, which the tests check against their schemas. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { blocksOf } from '../support/page.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(`${ROOT}/${path}`, 'utf8');

interface KubernetesObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

function objectsIn(text: string): KubernetesObject[] {
  return parseAllDocuments(text).map((document) => document.toJS());
}

const SHIPPED = globSync('deploy/{contour,kubernetes/overlays/*}/*.yaml', { cwd: ROOT })
  .filter((path) => !/values|kustomization|envoy\.yaml/.test(path))
  .flatMap((path) => objectsIn(read(path)));

test.each([
  ['contour', ['ExtensionService']],
  ['envoy-gateway', ['SecurityPolicy', 'ReferenceGrant']],
  ['istio', ['AuthorizationPolicy']],
])('those of quickstart/%s.md', (page, kinds) => {
  const texts = blocksOf(read(`docs/quickstart/${page}.md`)).filter(
    ({ file }) => file !== undefined,
  );
  const objects = texts.flatMap(({ text }) => objectsIn(text));
  expect(objects.map(({ kind }) => kind)).toEqual(kinds);
  for (const { kind, metadata, ...rest } of objects) {
    const shipped = SHIPPED.find(
      (each) => each.kind === kind && each.metadata.name === metadata.name,
    );
    expect(shipped).toMatchObject({ kind, metadata, ...rest });
  }
});
