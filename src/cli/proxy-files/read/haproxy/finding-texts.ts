/** What `headgate doctor` finds in files of HAProxy only. */
import { configError, of } from '../finding-text.ts';

export const HAPROXY_FINDINGS = {
  'defaults-lost': configError(
    'The section `defaults headgate` stands after other `defaults` of HAProxy. Sections that follow inherit from it, and it is empty.',
    'Put the part for the section `global` at the first `global` of the file, before all `defaults`.',
  ),
  'checks-logged': of('info', 'configuration')(
    'HAProxy logs each check besides the request.',
    'HAProxy logs the checks of its Lua client wherever `global` has a `log` line of level info. For one line a request, move that line into your `defaults` in place of `log global`. If your `defaults` have it already, print the parts for `global` and `end` again.',
  ),
};
