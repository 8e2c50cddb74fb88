/** What `headgate doctor` finds in objects of Kubernetes only. */
import { configError, configWarning } from '../finding-text.ts';

const WAY_OUT =
  'The quickstart of the proxy shows how to have both, under "If you have an authorizer already".';

export const MANIFEST_FINDINGS = {
  'authorizer-excluded': configError(
    'Two objects name an authorizer for the same requests, and the proxy asks only one: an Ingress has one `auth-url`, a target of Envoy Gateway one SecurityPolicy, a workload of Istio one CUSTOM provider, a virtual host of Contour one extension service.',
    WAY_OUT,
  ),
  'other-authorizer': configWarning(
    'An object of the file asks another authorizer, so its requests have no limits.',
    `Do nothing if they shall have none. ${WAY_OUT}`,
  ),
};
