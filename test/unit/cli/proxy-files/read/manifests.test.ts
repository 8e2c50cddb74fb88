import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  isManifest,
  manifestFindings,
} from '../../../../../src/cli/proxy-files/read/kubernetes/manifests.ts';

const DEPLOY = new URL('../../../../../deploy/', import.meta.url);
const findings = (text: string) => {
  expect(isManifest(text)).toBe(true);
  return manifestFindings('file.yaml', text).map(
    ({ rule, file, message }) => `${rule} ${file}: ${message}`,
  );
};
const ids = (text: string) => findings(text).map((each) => each.replace(/ .*/, ''));

const OAUTH2 = 'http://oauth2-proxy.sso.svc.cluster.local/oauth2/auth';
const OURS = 'http://headgate.headgate.svc.cluster.local:8080/ingress-nginx';
const ingress = (name: string, url: string, { path = '/', more = '' } = {}) => `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: ${name}
  annotations:
    nginx.ingress.kubernetes.io/auth-url: ${url}
    ${more}
spec: { rules: [{ host: a.example, http: { paths: [{ path: ${path} }] } }] }
`;
const security = (name: string, kind: string, auth: string) => `
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: { name: ${name}, namespace: application }
spec: { targetRefs: [{ group: g, kind: ${kind}, name: a }], ${auth} }
`;
const extAuth = (service: string) => `extAuth: { grpc: { backendRefs: [{ name: ${service} }] } }`;
const custom = (name: string, provider: string, spec = '') => `
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: ${name}, namespace: istio-ingress }
spec: { action: CUSTOM, provider: { name: ${provider} }, ${spec} rules: [{}] }
`;
const MESH = (service: string) =>
  `extensionProviders: [{ name: limits, envoyExtAuthzGrpc: { service: ${service}, port: 8081 } }]`;
const proxy = (extension: string, routes = '') => `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: { name: a }
spec:
  virtualhost: { fqdn: a.example, authorization: { extensionRef: { name: ${extension} } } }
  routes: [${routes}]
`;

test.each([
  ['ingress-nginx/ingress.yaml', 'the Ingress application'],
  ['gateway-api/headgate.yaml', 'the HTTPRoute application'],
  ['contour/headgate.yaml', 'the HTTPProxy application'],
  ['traefik/kubernetes.yaml', 'the Middleware headgate-answer'],
  ['kubernetes/overlays/envoy-gateway/security-policy.yaml', 'the SecurityPolicy headgate'],
  ['kubernetes/overlays/istio/authorization-policy.yaml', 'the AuthorizationPolicy headgate'],
  ['kubernetes/overlays/istio/istiod-values.yaml', 'the values, the values'],
])('recognizes %s', (name, what) => {
  expect(findings(readFileSync(new URL(name, DEPLOY), 'utf8'))).toEqual([
    `proxy-file file.yaml: objects of Kubernetes; headgate is asked by ${what}; headers, addresses and secrets were not compared`,
  ]);
});

describe('another authorizer', () => {
  test.each([
    [ingress('web', OAUTH2), `the Ingress web asks ${OAUTH2}`],
    [security('sso', 'HTTPRoute', extAuth('opa')), 'the SecurityPolicy sso asks opa'],
    [custom('sso', 'oauth2-proxy'), 'the AuthorizationPolicy sso asks oauth2-proxy'],
    [proxy('testserver'), 'the HTTPProxy a asks testserver'],
  ])('alone is named: %#', (text, says) => {
    expect(findings(text)).toEqual([
      `unknown-proxy-file file.yaml:2: does not ask headgate: ${says}`,
    ]);
  });

  test.each([
    ['an Ingress', ingress('ours', OURS), ingress('sso', OAUTH2)],
    [
      'a target of Envoy Gateway',
      security('ours', 'HTTPRoute', extAuth('headgate')),
      security('sso', 'HTTPRoute', extAuth('opa')),
    ],
    ['a workload of Istio', custom('ours', 'headgate-http'), custom('sso', 'oauth2-proxy')],
    [
      'a labelled workload of Istio',
      custom('ours', 'headgate-http', 'selector: { matchLabels: { a: b } },'),
      custom('sso', 'oauth2-proxy', 'selector: { matchLabels: { a: b } },'),
    ],
    ['a host of Contour', proxy('headgate'), proxy('testserver')],
  ])('for the same place is an error: %s', (_, ours, other) => {
    expect(ids(`${ours}---${other}`)).toEqual(['authorizer-excluded']);
    expect(findings(`${other}---${ours}`)[0]).toMatch(
      /^authorizer-excluded file\.yaml:2: the \w+ \w+ asks \S+ for what the \w+ \w+ \(file\.yaml:\d+\) asks headgate for/,
    );
  });

  test.each([
    ['another path', `${ingress('ours', OURS)}---${ingress('sso', OAUTH2, { path: '/admin' })}`],
    [
      'another target',
      `${security('ours', 'HTTPRoute', extAuth('headgate'))}---${security('sso', 'GRPCRoute', extAuth('opa'))}`,
    ],
    [
      'another workload',
      `${custom('ours', 'headgate', 'selector: { matchLabels: { a: b } },')}---${custom('sso', 'x', 'selector: { matchLabels: { a: c } },')}`,
    ],
  ])('for %s is a warning', (_, text) => {
    expect(ids(text)).toEqual(['other-authorizer']);
  });

  test('is found behind the name of a provider', () => {
    expect(ids(`${MESH('headgate.headgate.svc')}\n---${custom('a', 'limits')}`)).toEqual([
      'proxy-file',
    ]);
    expect(ids(`${MESH('opa.opa.svc')}\n---${custom('a', 'limits')}`)).toEqual([
      'unknown-proxy-file',
    ]);
    const mesh = `apiVersion: v1
kind: ConfigMap
metadata: { name: istio }
data: { mesh: "${MESH('headgate.headgate.svc')}" }
---${custom('a', 'limits')}`;
    expect(ids(mesh)).toEqual(['proxy-file']);
  });
});

test('a SecurityPolicy for a route replaces that of its gateway', () => {
  const gateway = security('ours', 'Gateway', extAuth('headgate'));
  expect(ids(`${gateway}---${security('cors', 'HTTPRoute', 'cors: {}')}`)).toEqual([
    'authorizer-excluded',
  ]);
  const merged = security('cors', 'HTTPRoute', 'mergeType: StrategicMerge, cors: {}');
  expect(ids(`${gateway}---${merged}`)).toEqual(['proxy-file']);
});

test('finds settings by which requests pass without headgate', () => {
  const satisfy = 'nginx.ingress.kubernetes.io/satisfy: "any"';
  expect(ids(ingress('ours', OURS, { more: satisfy }))).toEqual(['satisfied-by-headgate']);
  expect(ids(proxy('headgate', '{ authPolicy: { disabled: true } }'))).toEqual([
    'upstream-unchecked',
  ]);
});

test('reads what kubectl get prints', () => {
  const item = (text: string) => text.trim().replaceAll(/^/gm, '  ').replace('  ', '- ');
  const items = [ingress('ours', OURS), ingress('sso', OAUTH2)].map(item).join('\n');
  const [finding] = findings(`apiVersion: v1\nkind: List\nitems:\n${items}`);
  expect(finding).toContain(
    `authorizer-excluded file.yaml:12: the Ingress sso asks ${OAUTH2} for what the Ingress ours (file.yaml:4)`,
  );
});

test('says what a file without an authorizer has', () => {
  const text = 'apiVersion: apps/v1\nkind: Deployment\n---\napiVersion: v1\nkind: Service\n';
  expect(findings(text)).toEqual([
    'unknown-proxy-file file.yaml: does not ask headgate; it has Deployment, Service of Kubernetes',
  ]);
  expect(ids('apiVersion: v1\nkind: List\nitems: []')).toEqual(['unknown-proxy-file']);
  expect(ids('{ "apiVersion": "v1", "kind": "List", "items": [null, 1, {}] }')).toEqual([
    'unknown-proxy-file',
  ]);
});

test('names the remedy for a template', () => {
  const text = 'apiVersion: v1\nkind: Ingress\nmetadata: {{ .Values.x }}\n  a: b';
  expect(() => manifestFindings('file.yaml', text)).toThrow(/helm template/);
});
