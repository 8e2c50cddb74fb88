/**
 * The environment of commands. In a container that runs headgate in the place of envoyproxy/ratelimit, a command starts
 * with that program's variables, and must find the gateway and the limits that they describe.
 */
import { readFileSync } from 'node:fs';
import { type Environment, readEnvironment } from '../../gateway/config/settings/environment.ts';
import { SHIPPED_POLICIES } from '../../gateway/config/shipped-files.ts';
import type { Given } from './variable.ts';
import { dropInFor } from './variables.ts';

/** Only envoyproxy/ratelimit has them. Its others, such as PORT and REDIS_URL, are common names. */
const NAMES_OF_THEIRS = ['RUNTIME_ROOT', 'RUNTIME_SUBDIRECTORY', 'CONFIG_GRPC_XDS_SERVER_URL'];
/** If one of them is set, the user has moved to headgate's own variables. */
const PLACES_OF_LIMITS = ['HEADGATE_RATELIMIT_CONFIG', 'HEADGATE_RATELIMIT_CONTROL_PLANE'];

const POLICIES_OF_IMAGE = '/etc/headgate/policies.yaml';

/** The settings of the gateway on this machine. Throws a ConfigError with every mistake. */
export function commandEnvironment(given: NodeJS.ProcessEnv): Environment {
  return readEnvironment(commandVariables(given));
}

/** Gives the variables headgate's names, whichever program they are for. */
export function commandVariables(given: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (!isDropIn(given)) return given;
  // /bin/ratelimit of the image drops the same variables before it starts.
  const theirs = Object.entries(given).filter(([name, value]) => !isOfImage(name, value));
  return dropInFor(Object.fromEntries(theirs)).variables;
}

/** Whether the variables say, in the words of envoyproxy/ratelimit, where limits come from. */
export function isDropIn(given: Given): boolean {
  const isTheirs =
    given.CONFIG_TYPE === 'GRPC_XDS_SOTW' || NAMES_OF_THEIRS.some((name) => given[name]);
  return isTheirs && !PLACES_OF_LIMITS.some((name) => given[name]);
}

/**
 * Whether the image sets this variable for `headgate serve`, and the user has not put a policy file in its place.
 * deploy/image/ratelimit calls it.
 * @public
 */
export function isOfImage(name: string, value: string | undefined): boolean {
  if (name === 'HEADGATE_HOST') return value === '0.0.0.0';
  if (name !== 'HEADGATE_POLICIES' || value !== POLICIES_OF_IMAGE) return false;
  try {
    return readFileSync(value).equals(readFileSync(SHIPPED_POLICIES));
  } catch {
    return true;
  }
}
