import type { Random } from '../random.ts';
import { highest, isBelow, isHost, type Model, type ModelRequest, maybe, PATHS } from './model.ts';

interface Route {
  readonly host: string | undefined;
  readonly paths: readonly string[];
  readonly methods: readonly string[] | undefined;
  readonly isForPartners: boolean;
  readonly limit: number | undefined;
}

export function kongModel(random: Random): Model {
  const routes = Array.from(
    { length: 2 + random.below(5) },
    (_, i): Route => ({
      host: maybe(random, 0.5, () => random.oneOf(['a.example.com', '*.example.com'])),
      paths: Array.from({ length: 1 + random.below(2) }, () => random.oneOf(PATHS)),
      methods: maybe(random, 0.3, () => random.oneOf([['GET', 'HEAD'], ['POST']])),
      isForPartners: random.next() < 0.3,
      limit: maybe(random, 0.6, () => (i + 1) * 10 + random.below(10)),
    }),
  );
  const everywhere = maybe(random, 0.3, () => 7);
  return {
    text: textOf(routes, everywhere),
    limitsOf: (request) =>
      answering(routes, request).map(({ limit = everywhere }) =>
        limit === undefined ? [] : [limit],
      ),
    isSayable: routes.every(({ isForPartners }) => !isForPartners),
  };
}

/** Kong prefers routes with more conditions, then those with a plain host, then those with the longer path. */
function answering(routes: readonly Route[], request: ModelRequest): Route[] {
  const matching = routes.flatMap((route) => {
    const { host, methods, isForPartners } = route;
    const paths = route.paths.filter((path) => isBelow(request.path, path));
    const isMatch =
      isHost(request.host, host) &&
      methods?.includes(request.method) !== false &&
      (request.isPartner || !isForPartners);
    return isMatch ? paths.map((path) => ({ route, path })) : [];
  });
  const rankOf = ({ route: { host, methods, isForPartners }, path }: (typeof matching)[number]) => [
    [host !== undefined, methods !== undefined, isForPartners].filter(Boolean).length,
    host !== undefined && !host.startsWith('*') ? 1 : 0,
    path.length,
  ];
  return highest(matching, rankOf).map(({ route }) => route);
}

function textOf(routes: readonly Route[], everywhere: number | undefined): string {
  const plugins = (limit: number | undefined) =>
    limit === undefined
      ? []
      : [{ name: 'rate-limiting', config: { minute: limit, policy: 'local', limit_by: 'ip' } }];
  return JSON.stringify({
    _format_version: '3.0',
    plugins: plugins(everywhere),
    services: [
      {
        name: 's',
        url: 'http://s.internal',
        routes: routes.map(({ host, paths, methods, isForPartners, limit }, i) => ({
          ...{ name: `route-${i}`, paths, methods, plugins: plugins(limit) },
          hosts: host === undefined ? undefined : [host],
          headers: isForPartners ? { 'x-partner': ['acme'] } : undefined,
        })),
      },
    ],
  });
}
