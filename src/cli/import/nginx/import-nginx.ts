/** Carries over `limit_req` of NGINX. Its leaky bucket lets the same requests pass as a token bucket of burst + 1. */
import { readNginxConfig } from '../../proxy-files/nginx-syntax/config.ts';
import {
  everyDirective,
  NginxSyntaxError,
  named,
} from '../../proxy-files/nginx-syntax/directive.ts';
import type { ProxyFiles } from '../../proxy-files/read/proxy-files.ts';
import { ImportError, leftOut, wrongSource } from '../shared/finding.ts';
import type { ImportedFile } from '../shared/imported-limit.ts';
import { zonesOf } from './limits.ts';
import { policiesOf } from './policies.ts';
import { realIpOf } from './real-ip.ts';
import { Rules } from './rules.ts';
import { variablesOf } from './variables.ts';
import { exemptOf, otherLimits, zoneFindings } from './zone-findings.ts';

export function importNginx(files: ProxyFiles): ImportedFile {
  const { directives, findings } = configurationOf(files);
  const blocks = named(directives, 'http').flatMap(({ block }) => block);
  // A file of one site has no http block.
  const http = blocks.length > 0 ? blocks : directives;
  const every = everyDirective(http);
  const zones = zonesOf(http, variablesOf(every));
  const limits = named(every, 'limit_req');
  if (zones.size === 0 && limits.length === 0) {
    const reason =
      'has no limit_req_zone and no limit_req. Name the nginx.conf that includes the others.';
    throw wrongSource(files.main.name, reason);
  }
  const rules = new Rules(zones);
  const made = policiesOf(http, rules);
  const realIp = realIpOf(every);
  return {
    ...realIp,
    exempt: exemptOf(zones, made.used),
    default: made.whole,
    policies: made.list,
    findings: [
      ...findings,
      ...rules.findings,
      ...made.findings,
      ...realIp.findings,
      ...zoneFindings(zones, made.used),
      ...every.flatMap(otherLimits),
    ],
    limitsFound: limits.length,
  };
}

function configurationOf(files: ProxyFiles) {
  try {
    const { tree, problems } = readNginxConfig(files);
    const refused = problems.find(({ isUnreadable }) => !isUnreadable);
    if (refused !== undefined) throw new ImportError(refused.place, refused.problem);
    const findings = problems.map(({ place, path, problem }) => {
      const why = `${problem}. If it has limits, import it too, or run the command where NGINX reads it.`;
      return leftOut(place, `include ${path}`, why);
    });
    return { directives: tree, findings };
  } catch (error) {
    if (!(error instanceof NginxSyntaxError)) throw error;
    throw new ImportError(error.place, error.reason);
  }
}
