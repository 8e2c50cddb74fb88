import { writerOf } from '../print/proxy-config.ts';
import { proxyFileNames } from '../print/proxy-files.ts';
import { type Answers, LOGINS, POLICY_FILE } from './answers.ts';
import { gatewaySettings, portsOf } from './gateway-settings.ts';

export type NextSteps = ReturnType<typeof nextSteps>;

const PROXY_COMMANDS: Readonly<Record<string, string>> = {
  nginx: `nginx -c "$PWD/nginx.conf" -g 'daemon off; pid /tmp/nginx.pid;'`,
  envoy: 'envoy -c envoy.yaml',
  'envoy-grpc': 'envoy -c envoy-grpc.yaml',
  caddy: 'caddy run --config Caddyfile',
  haproxy: 'haproxy -f haproxy.cfg',
  traefik: 'traefik --configFile=traefik.yaml',
};

const RELOAD_COMMANDS: Readonly<Record<string, string>> = {
  nginx: 'nginx -t && nginx -s reload',
  caddy: 'caddy reload',
};

/** Says what to type after `headgate init`. `headgate` is the command that runs headgate here. */
export function nextSteps(answers: Answers, headgate = 'headgate') {
  const ports = portsOf(answers);
  // A setting that is a secret is not printed: it must be set already.
  const settings = gatewaySettings(answers, ports).flatMap(({ name, value }) =>
    value === undefined ? [] : [`${name}=${shellQuoted(value)} `],
  );
  const times = Array.from({ length: LOGINS + 1 }, (_, i) => i + 1).join(' ');
  const { proxy, existing, login } = answers;
  // Where an existing proxy listens is not known.
  const origin = existing ? 'http://127.0.0.1' : `http://127.0.0.1:${ports.proxy}`;
  const doctor = `${headgate} doctor --policies ${POLICY_FILE}`;
  return {
    serve: `${settings.join('')}${headgate} serve --policies ${POLICY_FILE}`,
    proxy: (existing ? RELOAD_COMMANDS : PROXY_COMMANDS)[proxy] ?? '',
    includes: existing ? (writerOf(proxy).includes ?? []) : [],
    curl:
      login === undefined
        ? `curl -i ${origin}/`
        : `for i in ${times}; do curl -s -o /dev/null -w '%{http_code}\\n' -X POST ${origin}${login}; done`,
    // An existing configuration is examined before it is loaded.
    examine: existing ? examination(proxy, doctor) : '',
    doctor: `${doctor} --through ${origin}/`,
  };
}

function examination(proxy: string, doctor: string): string {
  if (proxy === 'nginx') return `nginx -T | ${doctor} --proxy-file -`;
  return `${doctor} --proxy-file ${proxyFileNames(proxy)[0]}`;
}

/** Adds quotes for sh only where they are needed. */
export function shellQuoted(text: string): string {
  return /^[\w./:@,+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
