/** Makes hosts of a policy file out of the hosts of other configurations. */
import { checkHostTemplate } from '../../../gateway/config/policy-file/match.ts';

/** Lower case and without a port. Undefined if a policy file cannot name it. */
export function hostOf(text: string): string | undefined {
  const host = text
    .toLowerCase()
    .replace(/:\d{1,5}$/, '')
    .replace(/\.$/, '');
  try {
    return checkHostTemplate(host);
  } catch {
    return undefined;
  }
}
