/** The formats of access logs. Where two are as likely, the first is taken. */
import { hint } from '../../../gateway/config/closest-word.ts';
import { ConfigError } from '../../../gateway/config/diagnostic.ts';
import { apacheCombined, apacheForwarded } from './apache.ts';
import { caddyJson } from './caddy.ts';
import { awsCloudFront } from './cloudfront.ts';
import { awsAlb, cloudflareLogpush, gcpLoadBalancer } from './clouds.ts';
import { envoyGatewayJson, envoyJson, envoyText } from './envoy.ts';
import { haproxyHttplog } from './haproxy.ts';
import type { LogFormat } from './log-format.ts';
import { ingressNginx, nginxCombined, nginxForwarded, nginxJson, nginxLogFormat } from './nginx.ts';
import { traefikClf, traefikJson } from './traefik.ts';

export const FORMATS: readonly LogFormat[] = [
  nginxCombined,
  apacheCombined,
  nginxForwarded,
  apacheForwarded,
  nginxJson,
  ingressNginx,
  envoyText,
  envoyJson,
  envoyGatewayJson,
  caddyJson,
  haproxyHttplog,
  traefikJson,
  traefikClf,
  awsAlb,
  awsCloudFront,
  cloudflareLogpush,
  gcpLoadBalancer,
];

/** Takes a name or an NGINX log_format string. Throws a ConfigError. */
export function formatNamed(name: string): LogFormat {
  const found = FORMATS.find((format) => format.name === name);
  if (found !== undefined) return found;
  if (name.includes('$')) return nginxLogFormat(name);
  const names = FORMATS.map((format) => format.name);
  throw new ConfigError([
    `--format: "${name}" is no format${hintFor(name, names)}; it is auto, an NGINX log_format string, or one of ${names.join(', ')}`,
  ]);
}

function hintFor(name: string, names: readonly string[]): string {
  const begun = names.filter((each) => each.startsWith(`${name}-`));
  if (begun.length === 0) return hint(name, names);
  return `, did you mean ${begun.map((each) => `"${each}"`).join(' or ')}?`;
}
