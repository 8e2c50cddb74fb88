import type { Random } from '../random.ts';
import { highest, isBelow, type Model, type ModelRequest, maybe, PATHS } from './model.ts';

interface Ingress {
  readonly host: string | undefined;
  readonly paths: readonly { readonly path: string; readonly isExact: boolean }[];
  readonly limit: number | undefined;
  /** It does not limit 203.0.113.7. */
  readonly hasAllowList: boolean;
}

export function ingressModel(
  random: Random,
): Model & { exemptFrom(request: ModelRequest): boolean } {
  const ingresses = Array.from(
    { length: 1 + random.below(5) },
    (_, i): Ingress => ({
      host: maybe(random, 0.7, () => random.oneOf(['a.example.com', '*.example.com'])),
      paths: Array.from({ length: 1 + random.below(2) }, () => ({
        path: random.oneOf(PATHS),
        isExact: random.next() < 0.3,
      })),
      limit: maybe(random, 0.6, () => (i + 1) * 10 + random.below(10)),
      hasAllowList: random.next() < 0.5,
    }),
  );
  return {
    text: textOf(ingresses),
    limitsOf: (request) =>
      answering(ingresses, request).map(({ limit }) => (limit === undefined ? [] : [limit])),
    exemptFrom: (request) =>
      answering(ingresses, request).every(
        ({ limit, hasAllowList }) => limit === undefined || hasAllowList,
      ),
    isSayable: true,
  };
}

/** Each host is a server of NGINX. Of its locations, an exact one answers first, and then the longest. */
function answering(ingresses: readonly Ingress[], request: ModelRequest): Ingress[] {
  const servers = [request.host, `*${request.host.slice(request.host.indexOf('.'))}`, undefined];
  const server = servers.find((host) => ingresses.some((each) => each.host === host));
  const locations = ingresses
    .filter(({ host }) => host === server)
    .flatMap((ingress) => ingress.paths.map((each) => ({ ...each, ingress })))
    .filter(({ path, isExact }) => (isExact ? request.path === path : isBelow(request.path, path)));
  return highest(locations, ({ path, isExact }) => [isExact ? 1 : 0, path.length]).map(
    ({ ingress }) => ingress,
  );
}

function textOf(ingresses: readonly Ingress[]): string {
  const prefix = 'nginx.ingress.kubernetes.io';
  const items = ingresses.map(({ host, paths, limit, hasAllowList }, i) => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {
      name: `ingress-${i}`,
      annotations: {
        ...(limit === undefined ? {} : { [`${prefix}/limit-rpm`]: String(limit) }),
        ...(hasAllowList ? { [`${prefix}/limit-allowlist`]: '203.0.113.7' } : {}),
      },
    },
    spec: {
      rules: [
        {
          host,
          http: {
            paths: paths.map(({ path, isExact }) => ({
              path,
              pathType: isExact ? 'Exact' : 'Prefix',
            })),
          },
        },
      ],
    },
  }));
  return JSON.stringify({ kind: 'List', items });
}
