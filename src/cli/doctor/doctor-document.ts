/** Writes `docs/doctor.md`: every finding of `headgate doctor`. */
import type { Severity } from '../../gateway/config/diagnostic.ts';
import { ruleTable } from '../check/advice/rules-document.ts';
import { FINDINGS } from './catalog.ts';

const INTRODUCTION = `# Findings of \`headgate doctor\`

\`headgate doctor\` looks at everything that a working limit needs, and says what to do:

| it examines | with |
| --- | --- |
| settings, Node, the limit of open files, and the ports of the gateway | nothing |
| the policy file, by the [rules of \`headgate check\`](check.md) | \`--policies\`, or \`HEADGATE_POLICIES\` |
| the files of your proxy, against the policy file and the settings | \`--proxy-file\`, for each file |
| Redis and its clock, as \`headgate check --redis\` does | \`HEADGATE_REDIS_URL\`; with \`--redis\` it is an error if no Redis is set |
| what a client sees, and what of that reaches the gateway | \`--through\` with a URL of your proxy |

Run it with the environment of the gateway. It recognizes the files of NGINX, Envoy, Caddy, HAProxy and Traefik, and objects of Kubernetes, by what is in them, and reads what \`include\` of NGINX and \`import\` of Caddy name. It also warns of locations of NGINX, routes of Envoy and Traefik, blocks of Caddy and conditions of HAProxy that pass requests of a policy on without a check, of other ways to an application that one of them checks, and of lines that change the path after the check. Name the main file of NGINX. If it is another machine's, or only root may read it: \`nginx -T | headgate doctor --proxy-file -\`.

\`--through\` sends at most 22 GET requests to that URL, then one HEAD request for each other path that a policy names without a pattern, and nothing else. They count for the address of this machine, and one of them for a made-up value of each header that the policy file reads. One has \`%0A\` at the end of its path: headgate refuses it without counting it, and the answer shows whether denials reach clients. Then the metrics of the gateway say whether it trusts the proxy, and which of these headers reached it. If a policy of the file [charges afterwards](charging-afterwards.md), doctor waits up to 5 seconds for the outcomes of its own requests, and says what is not connected if none is reported. For all of that, the ops server must answer (\`HEADGATE_OPS_HOST\`, \`HEADGATE_OPS_PORT\`). To see what other clients see, run it on another machine, too: proxies often trust their own machine more.

If the proxy has several sites, name one: \`--through http://127.0.0.1/ --host shop.example\`. For a site with HTTP Basic authentication, write the user into the URL: \`--through http://user:password@127.0.0.1/\`. The password is not printed.

| output | form |
| --- | --- |
| text | \`subject: severity id: problem\`, and what to do on the next line |
| \`-o json\` | \`{ "findings": [{ "id", "severity", "subject", "problem", "remedy" }], "errors", "warnings" }\` |

Exit codes: 0 no errors; 1 an error of a running program; 2 usage; 3 an error of the settings, the policy file or a proxy file.
`;

const SECTIONS: Readonly<Record<Severity, string>> = {
  error: 'Errors',
  warning: 'Warnings',
  info: 'Notes',
  fine: 'Fine',
};

export function doctorDocument(): string {
  const sections = Object.entries(SECTIONS).map(
    ([severity, title]) => `## ${title}\n\n${ruleTable(FINDINGS, severity, HEAD)}`,
  );
  return [INTRODUCTION, ...sections].join('\n');
}

const HEAD = '| finding | meaning | what to do |';
