/** What headgate doctor finds when a file of a proxy is compared with the settings. */
import { describe, expect, test } from 'vitest';
import { examineProxyFile } from '../../../../../src/cli/proxy-files/read/examine-files.ts';
import type { ValidFile } from '../../../../../src/gateway/config/policy-file/valid-file.ts';
import { readEnvironment } from '../../../../../src/gateway/config/settings/environment.ts';
import { proxyConfigOf, validFile } from '../../../../support/proxy-config.ts';

const YAML = 'version: 1\nidentity: { sources: [ip] }\ndefault: { limits: [100/1h] }\n';
const HAPROXY = proxyConfigOf('haproxy', YAML, { sendsSecret: true }).replace(
  'str("the secret")',
  'str("the-secret-of-this-proxy")',
);
const WITHOUT = proxyConfigOf('haproxy', YAML);
const SENT = 'the-secret-of-this-proxy';
const OTHER = 'another-secret-of-headgate';

interface Compared {
  readonly settings?: NodeJS.ProcessEnv;
  /** What a running gateway says of the secret. */
  readonly isAccepted?: boolean;
  readonly text?: string;
  /** Its limit charges afterwards. */
  readonly settles?: boolean;
}

function policiesThat(settle: boolean): ValidFile {
  const file = validFile(YAML);
  const refund = settle && { refund: { status: [204] } };
  const limits = file.fallback.limits.map((limit) => ({ ...limit, ...refund }));
  return { ...file, fallback: { ...file.fallback, limits } };
}

async function findings({ settings = {}, isAccepted, text = HAPROXY, settles }: Compared) {
  const found = await examineProxyFile({
    ...{ file: 'haproxy.cfg', path: 'haproxy.cfg', text },
    policies: policiesThat(settles === true),
    settings: readEnvironment(settings),
    isAccepted: async () => isAccepted,
  });
  return found.map(({ rule, message }) => `${rule}: ${message}`);
}

const FITS = ['proxy-file: haproxy, fits the settings and the policy file'];
const secrets = (...listed: string[]) => ({ HEADGATE_PROXY_SECRET: listed.join(',') });

describe('the secret', () => {
  test.each([
    ['is that of headgate', secrets(SENT)],
    ['is the new one while it is replaced', secrets(SENT, OTHER)],
    ['is the old one while it is replaced', secrets(OTHER, SENT)],
  ])('%s', async (_, settings) => {
    expect(await findings({ settings })).toEqual(FITS);
    // The settings are known, so a gateway that is not yet started again does not matter.
    expect(await findings({ settings, isAccepted: false })).toEqual(FITS);
  });

  test('is another one, or is not sent', async () => {
    const settings = secrets(OTHER, `${SENT}-and-more`);
    expect(await findings({ settings })).toEqual([
      'secret-not-sent: the secret is not that of HEADGATE_PROXY_SECRET',
    ]);
    expect(await findings({ settings, text: WITHOUT })).toEqual([
      'secret-not-sent: no secret is sent',
    ]);
  });

  test('is one that the running gateway accepts or refuses', async () => {
    expect(await findings({ isAccepted: true })).toEqual(FITS);
    expect(await findings({ isAccepted: true, text: WITHOUT })).toEqual(FITS);
    expect(await findings({ isAccepted: false })).toEqual([
      'secret-not-sent: this is another secret, and the running gateway refuses such checks',
    ]);
    expect(await findings({ isAccepted: false, text: WITHOUT })).toEqual([
      'secret-not-sent: no secret is sent, and the running gateway refuses such checks',
    ]);
  });

  test('is not compared if neither settings nor a gateway tell', async () => {
    expect((await findings({})).join()).toMatch(/^proxy-file: .*its secret was not compared/);
    expect(await findings({ text: WITHOUT })).toEqual(FITS);
  });
});

describe('the settle token', () => {
  const old = WITHOUT.replaceAll(/^.*[^#\n]X-Headgate-Settle\n/gm, '');

  test('is missed in a file that does not name it, if a policy charges afterwards', async () => {
    expect(old).not.toBe(WITHOUT);
    expect(await findings({ text: old, settles: true, isAccepted: true })).toEqual([
      'settle-token-not-passed: passes no settle token to the application',
    ]);
    expect(await findings({ text: WITHOUT, settles: true, isAccepted: true })).toEqual(FITS);
    const comment = `# X-Headgate-Settle\n${old}`;
    expect(await findings({ text: comment, settles: true, isAccepted: true })).toHaveLength(1);
  });

  test('is missed in an NGINX that only hides it, as parts do that were printed before', async () => {
    const text = proxyConfigOf('nginx', YAML).replace(/^ *proxy_set_header X-Headgate-S.*\n/m, '');
    expect(text).toContain('proxy_hide_header X-Headgate-Settle;');
    const rules = (await findings({ text, settles: true, isAccepted: true })).join();
    expect(rules).toContain('settle-token-not-passed');
    expect((await findings({ text, isAccepted: true })).join()).not.toContain('settle-token');
  });

  test('is not missed otherwise', async () => {
    expect(await findings({ text: old, isAccepted: true })).toEqual(FITS);
  });
});

describe('the address', () => {
  test.each([
    ['that HAProxy asks', {}],
    ['of every interface', { HEADGATE_HOST: '0.0.0.0' }],
    ['of every interface, with IPv6', { HEADGATE_HOST: '::' }],
  ])('is one %s', async (_, settings) => {
    expect(await findings({ settings, isAccepted: true })).toEqual(FITS);
  });

  test.each([
    ['port', { HEADGATE_PORT: '8081' }, '127.0.0.1:8081'],
    ['host', { HEADGATE_HOST: '192.0.2.1' }, '192.0.2.1:8080'],
    ['port of every interface', { HEADGATE_HOST: '0.0.0.0', HEADGATE_PORT: '8' }, '0.0.0.0:8'],
  ])('is of another %s', async (_, settings, listens) => {
    expect(await findings({ settings, isAccepted: true })).toEqual([
      `other-gateway-address: asks 127.0.0.1:8080; headgate listens on ${listens}`,
    ]);
  });
});

test('a file that does not pass on what preflights and CORS need', async () => {
  const text = WITHOUT.replace(',origin,access-control-request-method,accept', '');
  expect(text).not.toBe(WITHOUT);
  expect(await findings({ text })).toEqual(FITS);
  const cors = { origins: new Set(['https://app.example.com']), credentials: false };
  const policies = { ...validFile(YAML), answers: { ...validFile(YAML).answers, cors } };
  const found = await examineProxyFile({
    ...{ file: 'haproxy.cfg', path: 'haproxy.cfg', text, policies },
    settings: readEnvironment({}),
    isAccepted: async () => undefined,
  });
  expect(found.map(({ rule, message }) => `${rule}: ${message}`)).toEqual([
    'cors-header-not-passed: origin does not reach headgate',
    'cors-header-not-passed: access-control-request-method does not reach headgate',
  ]);
});
