import { addressRange } from '../../gateway/config/policy-file/access-schema.ts';
import { SHIPPED_RANGES } from '../../gateway/config/shipped-files.ts';
import { examinePolicies } from '../check/advice/examine-policies.ts';
import { POLICY_FILE } from '../proxy-files/setup/answers.ts';
import { policyFile } from '../proxy-files/setup/policy-file.ts';

const FORM = 'name CIDR ranges, such as 10.1.0.0/16, separated by commas or spaces';

/** Throws a RangeError with the reason if a part is no CIDR range, or a range that nobody should trust. */
export function readNetworks(text: string): string[] {
  const networks = text.split(/[\s,]+/).filter((part) => part !== '');
  if (networks.length === 0) throw new RangeError(FORM);
  for (const network of networks) {
    // A policy file may also have names, such as private. The files of proxies may not.
    if (!/^[0-9a-f:.]+(\/\d+)?$/i.test(network)) throw new RangeError(`"${network}": ${FORM}`);
    const [issue] = addressRange.safeParse(network).error?.issues ?? [];
    if (issue !== undefined) throw new RangeError(issue.message);
  }
  const policies = policyFile({
    front: { kind: 'load-balancer', networks },
    keys: false,
    login: '/',
  });
  const paths = { policies: POLICY_FILE, cloudflareRanges: SHIPPED_RANGES };
  const { diagnostics } = examinePolicies(paths, 0, () => policies);
  const [wrong] = diagnostics.filter(({ severity }) => severity !== 'info');
  if (wrong !== undefined) throw new RangeError(wrong.message);
  return networks;
}
