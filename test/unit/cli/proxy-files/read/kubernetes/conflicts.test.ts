/** Which object takes the place of headgate's, and which ones do not. */
import { expect, test } from 'vitest';
import { manifestFindings } from '../../../../../../src/cli/proxy-files/read/kubernetes/manifests.ts';

interface Policy {
  readonly kind?: string;
  readonly name?: string;
  readonly target?: string;
  readonly rest?: string;
}

const EXT_AUTH =
  'extAuth: { grpc: { backendRefs: [{ name: headgate, namespace: headgate, port: 8081 }] } }';

const object = ({
  kind = 'SecurityPolicy',
  name = 'cors',
  target = 'HTTPRoute',
  rest = 'cors: {}',
}: Policy) => `
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: ${kind}
metadata: { name: ${name}, namespace: application }
spec: { targetRefs: [{ group: g, kind: ${target}, name: a }], ${rest} }
`;
const OURS = { name: 'headgate', target: 'Gateway', rest: EXT_AUTH };

const excluded = (...objects: Policy[]) =>
  manifestFindings('file.yaml', objects.map(object).join('---'))
    .filter(({ rule }) => rule === 'authorizer-excluded')
    .map(({ file, message }) => `${file}: ${/^the \w+ \S+ is for a route/.exec(message)?.[0]}`);

test('a SecurityPolicy of a route, without extAuth, replaces the one of the gateway', () => {
  expect(excluded(OURS, {})).toEqual(['file.yaml:7: the SecurityPolicy cors is for a route']);
  expect(excluded(OURS, { target: 'GRPCRoute' })).toHaveLength(1);
  expect(excluded(OURS, {}, { name: 'jwt', rest: 'jwt: {}' })).toHaveLength(2);
});

test.each<[string, Policy]>([
  ['of another kind', { kind: 'BackendTrafficPolicy' }],
  ['for a gateway', { target: 'Gateway' }],
  ['that is merged', { rest: 'mergeType: StrategicMerge, cors: {}' }],
  ['that asks headgate itself', { rest: EXT_AUTH }],
])('an object %s does not replace it', (_, other) => {
  expect(excluded(OURS, other)).toEqual([]);
});

test('nothing is replaced if that of headgate is for a route', () => {
  expect(excluded({ ...OURS, target: 'HTTPRoute' }, {})).toEqual([]);
  expect(excluded(OURS)).toEqual([]);
});
