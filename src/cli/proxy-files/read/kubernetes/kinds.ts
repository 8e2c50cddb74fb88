import { at, isMap, listAt, textAt, yamlDocument } from '../yaml.ts';

export interface KubernetesObject {
  readonly value: unknown;
  readonly place: string;
  readonly kind: string;
  readonly group: string;
  readonly name: string;
  /** Empty if the file does not name it. */
  readonly namespace: string;
}

/** An object by which a proxy asks an authorizer. */
export type AuthorizerUse = ReturnType<typeof authorizersOf>[number];

type Provider = ReturnType<typeof providersOf>[number];

const INGRESS_NGINX = 'nginx.ingress.kubernetes.io';

export function authorizersOf(object: KubernetesObject, providers: readonly Provider[]) {
  const { value, kind, group, name: title, place } = object;
  const what = `the ${kind}${title === '' ? '' : ` ${title}`}`;
  /** A provider only describes an authorizer, and another object names it. */
  const use = (authorizer: string | undefined, isHeadgate: boolean, isProvider = false) =>
    authorizer === undefined ? [] : [{ object, place, what, authorizer, isHeadgate, isProvider }];
  if (kind === 'Ingress') {
    const url = textAt(value, 'metadata', 'annotations', `${INGRESS_NGINX}/auth-url`);
    return use(url, /\/ingress-nginx\/?$/.test(url ?? ''));
  }
  if (kind === 'SecurityPolicy' && group === 'gateway.envoyproxy.io') {
    const extAuth = at(value, 'spec', 'extAuth');
    const service = serviceOf(at(extAuth, 'grpc') ?? at(extAuth, 'http'));
    return use(service, isOurs(service, textAt(extAuth, 'http', 'path')));
  }
  if (kind === 'AuthorizationPolicy' && textAt(value, 'spec', 'action') === 'CUSTOM') {
    const name = textAt(value, 'spec', 'provider', 'name');
    const known = providers.find((each) => each.name === name);
    return use(name, known?.isHeadgate ?? isOurs(name));
  }
  if (kind === 'HTTPProxy') {
    const name = textAt(value, 'spec', 'virtualhost', 'authorization', 'extensionRef', 'name');
    return use(name, isOurs(name));
  }
  if (kind === 'HTTPRoute')
    return listAt(value, 'spec', 'rules')
      .flatMap((rule) => listAt(rule, 'filters'))
      .flatMap((filter) => {
        const service = serviceOf(at(filter, 'externalAuth'));
        return use(service, isOurs(service, textAt(filter, 'externalAuth', 'http', 'path')));
      });
  if (kind === 'Middleware') {
    const address = textAt(value, 'spec', 'forwardAuth', 'address');
    // A router may have several.
    return /\/traefik\/?$/.test(address ?? '') ? use(address, true) : [];
  }
  return providersOf(object).flatMap(({ service, isHeadgate }) => use(service, isHeadgate, true));
}

function serviceOf(reference: unknown): string | undefined {
  const backend = listAt(reference, 'backendRefs')[0] ?? at(reference, 'backendRef') ?? undefined;
  const name = textAt(backend, 'name');
  const namespace = textAt(backend, 'namespace');
  return name && (namespace === undefined ? name : `${name}.${namespace}`);
}

/** An object may have only names, so the name decides, or a path of headgate. */
function isOurs(name: string | undefined, path?: string): boolean {
  return name !== undefined && (/headgate/i.test(name) || /^\/envoy\/?$/.test(path ?? ''));
}

/** Reads the mesh configuration in the values of a chart, an IstioOperator, or the ConfigMap of Istio. */
export function providersOf({ value }: KubernetesObject) {
  const mesh = textAt(value, 'data', 'mesh');
  const configurations = [
    value,
    at(value, 'meshConfig'),
    at(value, 'spec', 'meshConfig'),
    ...(mesh === undefined ? [] : [parsed(mesh)]),
  ];
  return configurations.flatMap((each) =>
    listAt(each, 'extensionProviders').flatMap((provider) => {
      const check = at(provider, 'envoyExtAuthzHttp') ?? at(provider, 'envoyExtAuthzGrpc');
      const name = textAt(provider, 'name');
      const service = textAt(check, 'service');
      if (!isMap(check) || name === undefined || service === undefined) return [];
      const isHeadgate = isOurs(service, textAt(check, 'pathPrefix'));
      return [{ name, service, isHeadgate }];
    }),
  );
}

function parsed(text: string): unknown {
  try {
    return yamlDocument(text);
  } catch {
    return undefined;
  }
}
