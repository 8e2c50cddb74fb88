import { validatePolicyFile } from '../../../gateway/config/policy-file/validate.ts';
import { partFiles, proxyFiles } from '../print/proxy-files.ts';
import { type Answers, DEFAULT_ANSWERS, POLICY_FILE, TEST_FILE } from './answers.ts';
import { composeFile } from './compose.ts';
import { gatewayPort, gatewaySettings, ownPort, portsOf } from './gateway-settings.ts';
import { policyFile } from './policy-file.ts';
import { policyTests } from './policy-tests.ts';
import { systemdUnit, UNIT_FILE } from './systemd.ts';

export interface SetupFile {
  readonly name: string;
  readonly purpose: string;
  readonly text: string;
}

/** The policy file names none. */
const NO_KEY_FILES = { readKeyFile: () => [], readPage: () => '' };

/** Throws a RangeError if the answers do not fit each other. */
export function setupFiles(answers: Answers): SetupFile[] {
  const ports = portsOf(answers);
  const policies = policyFile(answers);
  const ofProxy = filesOfProxy(answers, policies);
  const files = [
    { name: POLICY_FILE, purpose: 'who may send how many requests', text: policies },
    { name: TEST_FILE, purpose: `tests of ${POLICY_FILE}`, text: policyTests(answers) },
    ...ofProxy,
  ];
  if (answers.with.includes('compose')) {
    const names = ofProxy.map(({ name }) => name);
    const what = answers.existing
      ? 'the gateway in a container'
      : 'gateway and proxy in containers';
    const text = composeFile(answers, ports, names);
    files.push({ name: 'compose.yaml', purpose: what, text });
  }
  if (answers.with.includes('systemd')) {
    const text = systemdUnit(gatewaySettings(answers, ports));
    files.push({ name: UNIT_FILE, purpose: 'the gateway as a service of systemd', text });
  }
  return files;
}

export function namesApplication(answers: Pick<Answers, 'proxy' | 'existing'>): boolean {
  const application = { host: 'application.invalid', port: 3000 };
  const files = setupFiles({ ...DEFAULT_ANSWERS, ...answers, application });
  return files.some(({ text }) => text.includes(application.host));
}

function filesOfProxy(answers: Answers, policies: string): SetupFile[] {
  const { proxy, application, front } = answers;
  const ports = portsOf(answers);
  const input = {
    proxy,
    policies: validatePolicyFile(policies, POLICY_FILE, NO_KEY_FILES).file,
    gateway: { host: '127.0.0.1', port: gatewayPort(proxy, ports) },
    application,
    ownPort: ownPort(answers),
    sendsSecret: false,
  };
  if (answers.existing)
    return partFiles(input).map(({ name, text, include }) => ({
      name,
      text,
      purpose: include === undefined ? 'what to add to your configuration' : `goes ${include.goes}`,
    }));
  return proxyFiles({ ...input, port: ports.proxy, front }).map(({ name, text }, i) => ({
    name,
    text,
    purpose: i === 0 ? `the proxy, on port ${ports.proxy}` : 'also for the proxy',
  }));
}
