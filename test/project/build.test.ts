/** How the build finds and replaces the imports of packages in what tsc wrote. */
import { describe, expect, test } from 'vitest';
import { packageImports, packageOf, withImports } from '../../tools/build/imports.ts';

const CODE = `import { readFileSync } from 'node:fs';
import * as os from 'node:os';
import ipaddr from 'ipaddr.js';
import fastify, {} from 'fastify';
import {
    isMap as isYamlMap,
    parseDocument,
} from 'yaml';
export { trace } from '@opentelemetry/api';
import { own } from '../unit/own.js';
const text = "import { z } from 'zod';";
const later = import('../unit/later.js');
`;

test('the imports of packages, with the names that each needs', () => {
  expect(packageImports(CODE)).toEqual([
    { specifier: 'ipaddr.js', names: ['default'] },
    { specifier: 'fastify', names: ['default'] },
    { specifier: 'yaml', names: ['isMap', 'parseDocument'] },
    { specifier: '@opentelemetry/api', names: ['trace'] },
  ]);
});

describe('an import that does not say which names it needs is refused', () => {
  test('of all names', () =>
    expect(() => packageImports("import * as yaml from 'yaml';")).toThrow(
      'import names of yaml, not *',
    ));
  test('at run time', () =>
    expect(() => packageImports("  await import('yaml');")).toThrow(
      'import names of yaml, at the top of the file',
    ));
});

test('only the imports of the package are replaced', () => {
  const changed = withImports(CODE, (name) =>
    name === 'yaml' ? '../libraries/yaml.js' : undefined,
  );
  expect(changed).toBe(CODE.replace("} from 'yaml';", "} from '../libraries/yaml.js';"));
});

test.each([
  ['yaml', 'yaml'],
  ['ioredis/built/x.js', 'ioredis'],
  ['@opentelemetry/api', '@opentelemetry/api'],
  ['@opentelemetry/api/metrics', '@opentelemetry/api'],
])('%s is in the package %s', (specifier, name) => expect(packageOf(specifier)).toBe(name));
