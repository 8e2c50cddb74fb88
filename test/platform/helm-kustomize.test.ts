/** The chart and deploy/kubernetes/base are one set of objects, written twice: this test compares them. */
import { describe, expect, inject, test } from 'vitest';
import { renderedChart, valueFile } from './support/helm.ts';
import { type KubernetesObject, rendered } from './support/kubernetes.ts';

const { helm: hasHelm, kubectl: hasKubectl } = inject('programs');

/** Differences that are meant: the path of a field in one of the two, and why the other has another one or none. */
const OF_KUSTOMIZE: Readonly<Record<string, string>> = {
  'Namespace/headgate': 'helm makes the namespace itself: --create-namespace',
};
const OF_BOTH: Readonly<Record<string, string>> = {
  'Deployment/headgate spec.template.spec.containers.0.env.HEADGATE_PROXY_SECRET.valueFrom.secretKeyRef.optional':
    'the values say whether there is a proxy secret',
};
const OF_THE_CHART: Readonly<Record<string, string>> = {
  'Deployment/headgate spec.template.spec.containers.0.imagePullPolicy': 'is the default of a tag',
};
/** Labels that say who made an object. Only a selector must have the same ones as its pods, which other tests check. */
const OF_THE_TOOL =
  /^(helm\.sh\/chart|app\.kubernetes\.io\/(instance|version|managed-by|part-of))$/;
/** The role of an object of the chart. Kustomize labels only what a selector needs. */
const DESCRIPTIVE = /^[A-Za-z]+\/\S+ metadata\.labels\./;

describe.skipIf(!hasHelm || !hasKubectl)('ci/kustomize.yaml and deploy/kubernetes/base', () => {
  const chart = hasHelm ? fieldsOf(renderedChart(['--values', valueFile('kustomize.yaml')])) : [];
  const base = hasKubectl ? fieldsOf(rendered('base')) : [];
  const [ofChart, ofBase] = [new Map(chart), new Map(base)];

  test('have the same kinds of objects', () => {
    const objects = (fields: ReadonlyMap<string, unknown>) =>
      [...new Set([...fields.keys()].map((path) => path.split(' ')[0] ?? ''))].sort();
    const wanted = objects(ofBase).filter((name) => !Object.hasOwn(OF_KUSTOMIZE, name));
    expect(objects(ofChart)).toEqual(wanted);
    expect(wanted).toHaveLength(8);
  });

  test('agree in every field', () => {
    const paths = [...new Set([...ofChart.keys(), ...ofBase.keys()])].filter(
      (path) => !DESCRIPTIVE.test(path) && !Object.hasOwn(OF_KUSTOMIZE, path.split(' ')[0] ?? ''),
    );
    const different = paths.filter((path) => ofChart.get(path) !== ofBase.get(path));
    expect(
      different
        .filter((path) => !(path in OF_BOTH) && !(path in OF_THE_CHART))
        .map((path) => ({ path, chart: ofChart.get(path), kustomize: ofBase.get(path) })),
    ).toEqual([]);
    // A difference that is gone must leave the list.
    for (const path of [...Object.keys(OF_BOTH), ...Object.keys(OF_THE_CHART)])
      expect(different).toContain(path);
    expect(paths.length).toBeGreaterThan(150);
  });
});

/** Every field as `Kind/name path.of.it`, with its value. Lists whose items have names go by these. */
function fieldsOf(objects: readonly KubernetesObject[]): [string, unknown][] {
  return objects.flatMap(({ apiVersion, kind, metadata, ...rest }) => {
    const { name, ...others } = metadata;
    const all = { apiVersion, metadata: others, ...rest };
    return leavesOf(all, '').map(([path, value]): [string, unknown] => [
      `${kind}/${name} ${path}`,
      value,
    ]);
  });
}

function leavesOf(value: unknown, path: string): [string, unknown][] {
  if (value === null || typeof value !== 'object') return [[path, value]];
  const entries: [string, unknown][] = Array.isArray(value)
    ? value.map((item, i) => [nameOf(item, path) ?? String(i), item])
    : Object.entries(value).filter(([key]) => !OF_THE_TOOL.test(key));
  return entries.flatMap(([key, inner]) => leavesOf(inner, path === '' ? key : `${path}.${key}`));
}

/** Variables come in any order. Of all other lists the order counts. */
function nameOf(item: unknown, path: string): string | undefined {
  return path.endsWith('.env') ? (item as { name: string }).name : undefined;
}
