import type { Random } from '../random.ts';
import { highest, isBelow, isHost, type Model, type ModelRequest, maybe, PATHS } from './model.ts';

interface Router {
  readonly host: string | undefined;
  readonly path: string;
  readonly isExact: boolean;
  readonly method: string | undefined;
  readonly condition: '' | 'Header(`X-Partner`, `acme`)' | '!Header(`X-Partner`, `acme`)';
  readonly limit: number | undefined;
  readonly priority: number | undefined;
}

export function traefikModel(random: Random): Model {
  const conditions = [
    '',
    '',
    '',
    'Header(`X-Partner`, `acme`)',
    '!Header(`X-Partner`, `acme`)',
  ] as const;
  const routers = Array.from(
    { length: 2 + random.below(5) },
    (_, i): Router => ({
      host: maybe(random, 0.7, () => random.oneOf(['a.example.com', 'b.example.com'])),
      path: random.oneOf(PATHS),
      isExact: random.next() < 0.3,
      method: maybe(random, 0.2, () => random.oneOf(['GET', 'POST'])),
      condition: random.oneOf(conditions),
      limit: maybe(random, 0.6, () => (i + 1) * 10 + random.below(10)),
      priority: maybe(random, 0.2, () => 1 + random.below(80)),
    }),
  );
  return {
    text: textOf(routers),
    limitsOf: (request) =>
      highest(
        routers.filter((each) => matches(each, request)),
        (each) => [each.priority ?? ruleOf(each).length],
      ).map(({ limit }) => (limit === undefined ? [] : [limit])),
    isSayable: routers.every(({ condition }) => condition === ''),
  };
}

function matches(
  { host, path, isExact, method, condition }: Router,
  request: ModelRequest,
): boolean {
  if (!isHost(request.host, host) || (method ?? request.method) !== request.method) return false;
  if (condition !== '' && request.isPartner === condition.startsWith('!')) return false;
  return isExact ? request.path === path : isBelow(request.path, path);
}

function ruleOf({ host, path, isExact, method, condition }: Router): string {
  return [
    ...(host === undefined ? [] : [`Host(\`${host}\`)`]),
    `${isExact ? 'Path' : 'PathPrefix'}(\`${path}\`)`,
    ...(method === undefined ? [] : [`Method(\`${method}\`)`]),
    ...(condition === '' ? [] : [condition]),
  ].join(' && ');
}

function textOf(routers: readonly Router[]): string {
  const limited = routers.flatMap(({ limit }) => limit ?? []);
  return JSON.stringify({
    http: {
      routers: Object.fromEntries(
        routers.map((router, i) => [
          `router-${i}`,
          {
            rule: ruleOf(router),
            priority: router.priority,
            middlewares: router.limit === undefined ? [] : [`limit-${router.limit}`],
            service: 's',
          },
        ]),
      ),
      middlewares: Object.fromEntries(
        limited.map((limit) => [
          `limit-${limit}`,
          { rateLimit: { average: limit, period: '1m', burst: limit } },
        ]),
      ),
    },
  });
}
