import { ConfigError, type Diagnostic, type Severity } from '../../gateway/config/diagnostic.ts';
import {
  everyEntry,
  keySources,
  type PolicyEntry,
  type ValidFile,
} from '../../gateway/config/policy-file/valid-file.ts';
import { type Environment, readEnvironment } from '../../gateway/config/settings/environment.ts';
import { plural } from '../../gateway/operations/texts.ts';
import { commandEnvironment, isDropIn } from '../environment/commands.ts';
import { sentenceOf } from '../output/diagnostics.ts';
import { EXIT_FAULT, EXIT_INVALID_CONFIG } from '../output/exit-codes.ts';
import { complain, type Line, type OutputFlags, print, say, type Tone } from '../output/output.ts';
import { clientHeadersOf, settlingPolicies } from '../proxy-files/print/client-headers.ts';
import { examineProxyFile } from '../proxy-files/read/examine-files.ts';
import { found, isAboutRunningPrograms } from './catalog.ts';
import { choiceFindings, planFindings, policyFindings, validPolicies } from './doctor-policies.ts';
import { gatewayState } from './gateway-state.ts';
import { machineFindings } from './machine.ts';
import { fileOrPipe, isPiped, STANDARD_INPUT } from './piped-text.ts';
import { acceptsSecret, opsUrlOf, portFindings, settingsFindings } from './ports.ts';
import { MAX_REQUESTS, throughGateway } from './through/gateway-view.ts';
import { policyPaths } from './through/policy-paths.ts';
import type { Target } from './through/request.ts';

export interface DoctorFlags extends OutputFlags {
  readonly policies?: string;
  readonly proxyFile: readonly string[];
  readonly through?: URL;
  readonly host?: string;
  readonly redis?: true;
}

export async function doctor(flags: DoctorFlags): Promise<void> {
  const { output } = flags;
  const findings: Diagnostic[] = [];
  for await (const finding of everyFinding(flags)) {
    findings.push(finding);
    if (output === 'text') say(linesOf(finding));
  }
  const count = (severity: Severity) =>
    findings.filter((each) => each.severity === severity).length;
  const [errors, warnings] = [count('error'), count('warning')];
  if (output === 'json')
    print(output, { findings: findings.map(jsonOf), errors, warnings }, () => []);
  else say(`${plural(errors, 'error')}, ${plural(warnings, 'warning')}`);
  const wrong = findings.filter(({ severity }) => severity === 'error');
  if (wrong.length === 0) return;
  const isRunning = wrong.every(({ rule }) => isAboutRunningPrograms(rule));
  process.exitCode = isRunning ? EXIT_FAULT : EXIT_INVALID_CONFIG;
}

async function* everyFinding(flags: DoctorFlags): AsyncGenerator<Diagnostic> {
  yield* machineFindings();
  const settings = readSettings();
  if ('mistakes' in settings) yield* settings.mistakes.map(settingMistake);
  else yield* settingsFindings(settings, (name) => Boolean(process.env[name]));
  // With mistakes in the environment, the rest is examined with the default settings.
  const environment = 'mistakes' in settings ? readEnvironment({}) : settings;
  const path = flags.policies ?? environment.policies;
  const files = { ...environment, policies: path };
  yield* policyFindings(files);
  const valid = validPolicies(files);
  const isNamed =
    flags.policies !== undefined || Boolean(process.env.HEADGATE_POLICIES) || isDropIn(process.env);
  const gateway = await gatewayState(opsUrlOf(environment));
  yield* choiceFindings({ path, digest: valid?.digest, isNamed }, gateway);
  yield* planFindings(gateway);
  for (const file of flags.proxyFile) yield* proxyFindings(file, valid?.file, environment);
  yield* portFindings(environment);
  const keysInStore = valid !== undefined && keySources(valid.file.identity).inStore;
  yield* redisFindings(environment, { isNeeded: flags.redis === true, keysInStore });
  if (flags.through === undefined) return;
  const target = targetOf(flags.through, flags.host);
  const { url } = target;
  const policies = valid && {
    digest: valid.digest,
    headers: clientHeadersOf(valid.file).counted,
    paths: policyPaths(valid.file, target),
    costs: new Set(everyEntry(valid.file).map(({ entry }) => entry.cost)),
    settling: settlingPolicies({ ...valid.file, entries: valid.file.entries.filter(isOn) }),
  };
  const heads = policies?.paths.tried.map(({ target }) => target) ?? [];
  const more = heads.length === 0 ? '' : `, and a HEAD request to ${heads.join(', ')}`;
  const as = target.host === undefined ? '' : ` for ${target.host}`;
  complain(`headgate: sends at most ${MAX_REQUESTS} GET requests to ${url.href}${as}${more}`);
  yield* throughGateway({ target, now: Date.now, settings: environment, policies });
}

const isOn = ({ mode }: PolicyEntry) => mode !== 'off';

/** The user of the URL goes into a header, and is printed nowhere. */
function targetOf(through: URL, host: string | undefined): Target {
  const url = new URL(through);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  const target = { url, ...(host !== undefined && { host }) };
  if (username + password === '') return target;
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { ...target, authorization: `Basic ${Buffer.from(user).toString('base64')}` };
}

function readSettings(): Environment | { readonly mistakes: readonly string[] } {
  try {
    return commandEnvironment(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { mistakes: error.mistakes };
  }
}

function settingMistake(mistake: string): Diagnostic {
  const [name = ''] = mistake.split(':', 1);
  return found('invalid-setting', name, mistake.slice(name.length + 2));
}

async function* proxyFindings(
  path: string,
  policies: ValidFile | undefined,
  settings: Environment,
): AsyncGenerator<Diagnostic> {
  const file = path === STANDARD_INPUT ? 'standard input' : path;
  const isAccepted = (secret: string | undefined) => acceptsSecret(settings, secret);
  try {
    const text = await fileOrPipe(path);
    if (text.trim() === '' && isPiped(path))
      yield found('empty-input', file, 'is empty: run nginx -t, which says why');
    else yield* await examineProxyFile({ file, path, text, policies, settings, isAccepted });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    yield* error.mistakes.map((mistake) => found('unreadable-proxy-file', file, mistake));
  }
}

async function* redisFindings(
  { redis: target, storeTimeoutMs, replicas, workers }: Environment,
  { isNeeded, keysInStore }: { readonly isNeeded: boolean; readonly keysInStore: boolean },
): AsyncGenerator<Diagnostic> {
  if (target === undefined) {
    if (isNeeded) yield found('no-redis', 'HEADGATE_REDIS_URL', 'is not set');
    else if (keysInStore)
      yield found('keys-not-kept', 'HEADGATE_REDIS_URL', 'is not set, and keys: redis needs it');
    return;
  }
  // Loaded only now, because without Redis no client of it is needed.
  const { examineRedis } = await import('./redis/examine-redis.ts');
  const options = { storeTimeoutMs, replicas, workers, keysInStore };
  yield* examineRedis({ ...options, target, now: Date.now });
}

const TONES: Readonly<Record<Severity, Tone>> = {
  error: 'bad',
  warning: 'warning',
  info: 'aside',
  fine: 'good',
};

function linesOf(diagnostic: Diagnostic): Line[] {
  const { id, severity, subject, problem, remedy } = jsonOf(diagnostic);
  const first = {
    spans: [`${subject}: `, { text: severity, tone: TONES[severity] }, ` ${id}: ${problem}`],
  };
  return remedy === '' ? [first] : [first, `    ${remedy}`];
}

/** Programs depend on these names. */
function jsonOf(diagnostic: Diagnostic) {
  const { rule: id, severity, file, place, remedy } = diagnostic;
  const subject = place === undefined ? file : `${file}:${place.line}:${place.column}`;
  return { id, severity, subject, problem: sentenceOf(diagnostic), remedy };
}
