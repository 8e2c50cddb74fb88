/** What another limiter limits, the imported policies limit at least as much. The models are in test/support/import-models. */
import { describe, expect, test } from 'vitest';
import type { ImportKind } from '../../../../src/cli/import/kinds.ts';
import { ingressModel } from '../../../support/import-models/ingress-nginx.ts';
import { kongModel } from '../../../support/import-models/kong.ts';
import {
  everyRequest,
  type Model,
  type ModelRequest,
} from '../../../support/import-models/model.ts';
import { nginxModel } from '../../../support/import-models/nginx.ts';
import { traefikModel } from '../../../support/import-models/traefik.ts';
import { importText } from '../../../support/imports.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { Random } from '../../../support/random.ts';
import { rounds } from '../../../support/short-form.ts';

const MODELS: Readonly<Record<ImportKind, (random: Random) => Model>> = {
  nginx: nginxModel,
  'ingress-nginx': ingressModel,
  traefik: traefikModel,
  kong: kongModel,
};

/** The limits per minute that an imported file has for a request. */
function importedLimits(policies: string) {
  const set = policySetFrom(policies);
  return ({ method, host, path }: ModelRequest): number[] => {
    const request = { method, host, target: path, policy: undefined, missing: [] };
    const applied = set.policiesFor(request).filter(({ mode }) => mode === 'enforce');
    return applied.flatMap(({ limits }) =>
      limits.map(({ quota }) => (quota.limit * 60_000) / quota.windowMs),
    );
  };
}

interface Seen {
  limited: number;
  unlimited: number;
  same: number;
}

/** What is wrong with the imported limits of one request; undefined if nothing is. */
function mistakeOf(model: Model, request: ModelRequest, limits: readonly number[], seen: Seen) {
  const sources = model.limitsOf(request);
  const lost = sources.flat().filter((limit) => Math.min(...limits) > limit);
  if (lost.length > 0) return model.namedFor?.(request) ?? `less than ${lost}`;
  if (limits.length === 0) seen.unlimited++;
  else seen.limited++;
  if (!model.isSayable || sources.length !== 1) return undefined;
  seen.same++;
  const isSame = `${[...limits].sort()}` === `${[...sources.flat()].sort()}`;
  return isSame ? undefined : `${limits} in place of ${sources}`;
}

describe.each(Object.entries(MODELS))('%s', (kind, makeModel) => {
  test('random configurations are limited at least as much, and by nothing invented', () => {
    const random = new Random(35);
    const seen: Seen = { limited: 0, unlimited: 0, same: 0 };
    for (let round = 0; round < rounds(400); round++) {
      const model = makeModel(random);
      if (everyRequest().every((each) => model.limitsOf(each).flat().length === 0)) continue;
      const { text, findings } = importText(kind as ImportKind, model.text);
      const limitsOf = importedLimits(text);
      for (const request of everyRequest()) {
        const mistake = mistakeOf(model, request, limitsOf(request), seen);
        const isTold = findings.some(({ message }) => message.startsWith(mistake ?? ''));
        if (mistake !== undefined && !isTold)
          expect.fail(`${mistake}: ${JSON.stringify(request)}\n${model.text}\n${text}`);
      }
    }
    expect(Math.min(seen.limited, seen.unlimited, seen.same)).toBeGreaterThan(50);
  });
});
